import { beforeEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../../../src/core/errors.ts';
import { sql } from '../../../../src/lib/sql/sql.ts';
import { completion, type SaidReply } from '../../../kit/fake.ts';
import { assertRefused } from '../../../kit/refusal.ts';
import { fakeCatalog, type CallOptions, type Reply } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { traces } from '../../../kit/traces.ts';
import { wellAgain } from '../../../kit/well.ts';

/**
 * Chat without streaming: what is reserved, what goes to the upstream, what is charged. A dollar a
 * million prompt tokens and two a million completion tokens, so a prompt token costs one micro-USD
 * and a completion token two.
 */

/** A row with lower limits than a caller may ask for. */
const smallRow = `
  - id: fake/small/chat
    kind: text
    task: chat
    name: Small chat
    description: Few tokens.
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 0
    max_unit: tokens
    upstream_model: small
    context_tokens: 1000
    max_output_tokens: 300
    input_schema: { type: object, properties: { messages: { type: array } } }
    example: { messages: [{ role: user, content: hello }] }
`;

/** A row with more tokens for an image than most models. */
const seeingRow = `
  - id: fake/seeing/chat
    kind: text
    task: chat
    name: Seeing chat
    description: Pictures are dear.
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 0
    max_unit: tokens
    upstream_model: seeing
    context_tokens: 100000
    max_output_tokens: 300
    image_tokens: 48200
    input_schema: { type: object, properties: { messages: { type: array } } }
    example: { messages: [{ role: user, content: hello }] }
`;

const hello = [{ role: 'user', content: 'hello' }];
/** 128 for the template, 16 for the message, and 11 thirds of a token for the word, rounded up. */
const helloBound = 148;
/** 3 for the message and a quarter of the word's 5 bytes, rounded up. */
const helloCount = 5;
/** 10 tokens by the count of a quarter of the bytes. */
const forty = 'forty letters make ten tokens when sold.';

const { service, account } = withService({ catalog: fakeCatalog + smallRow + seeingRow });

function chat(body: Record<string, unknown>, options: CallOptions = {}): Promise<Reply> {
  const whole = { model: 'fake/chat', messages: hello, max_tokens: 100, ...body };
  return account.post('/v1/chat/completions', whole, options);
}

/** The account's balance and holds, and the money movements so far. */
async function books() {
  const { available, reserved } = await service.balance(account);
  return { available, reserved, transfers: await service.transfers() };
}

/**
 * Makes a call with this outcome at the upstream. Returns the reply and the changes of the books.
 */
async function charged(outcome: SaidReply, body: Record<string, unknown> = {}) {
  const earlier = await books();
  service.fake.behave.chat = () => outcome;
  const reply = await chat(body).finally(() => (service.fake.behave = {}));
  const later = await books();
  assert.equal(later.reserved, 0n, 'a reservation was left');
  assert.equal(later.transfers - earlier.transfers, 2, 'one reserve and one settlement');
  return { reply, cost: earlier.available - later.available };
}

const said = (content: string, usage: unknown, finish = 'stop'): SaidReply => ({
  outcome: 'reply',
  reply: {
    ...completion(content, null),
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
    ...(usage !== undefined && { usage }),
  },
});

test('the reply is OpenAI’s, under our names, with what it cost', async () => {
  const usage = {
    prompt_tokens: 5,
    completion_tokens: 2,
    prompt_tokens_details: { cached_tokens: 1 },
  };
  const { reply, cost } = await charged({ outcome: 'reply', reply: completion('hi there', usage) });
  assert.equal(reply.status, 200);
  assert.equal(cost, 9n);
  assert.equal(reply.headers.get('x-charge-usd-micro'), '9');
  const { id, created, ...rest } = reply.body;
  assert.match(id, /^chatcmpl-[0-9a-f-]{36}$/);
  assert.ok(Math.abs(created - Date.now() / 1000) < 60);
  assert.deepEqual(rest, {
    object: 'chat.completion',
    model: 'fake/chat',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'hi there', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { ...usage, total_tokens: 7, cost_usd_micro: '9' },
  });
  const card = await account.get(`/v1/requests/${id.slice('chatcmpl-'.length)}`);
  assert.equal(card.body.status, 'COMPLETED');
  assert.equal(card.body.charged_usd_micro, '9');
  assert.equal(card.body.quoted_usd_micro, String(helloBound + 2 * 100));
  assert.doesNotMatch(card.text, /hello|hi there/, 'what was said stays with the caller');
});

test("an image is reserved by the row's tokens, so that its full cost is charged", async () => {
  const url = 'https://example.com/a.png';
  const content = [{ type: 'image_url', image_url: { url, detail: 'high' } }];
  const usage = { prompt_tokens: 48_189, completion_tokens: 1 };
  const { cost } = await charged(
    { outcome: 'reply', reply: completion('x', usage) },
    { model: 'fake/seeing/chat', messages: [{ role: 'user', content }], max_tokens: 1 },
  );
  assert.equal(cost, 48_191n);
});

describe('the reservation, and the call to the upstream', () => {
  const cases: { name: string; body: Record<string, unknown>; tokens: number; reserved: number }[] =
    [
      {
        name: 'max_tokens as given',
        body: { max_tokens: 100 },
        tokens: 100,
        reserved: helloBound + 200,
      },
      {
        name: 'its newer name',
        body: { max_tokens: undefined, max_completion_tokens: 50 },
        tokens: 50,
        reserved: helloBound + 100,
      },
      {
        name: 'left out: 4096',
        body: { max_tokens: undefined },
        tokens: 4096,
        reserved: helloBound + 8192,
      },
      {
        name: 'null: left out',
        body: { max_tokens: null },
        tokens: 4096,
        reserved: helloBound + 8192,
      },
      {
        name: 'above the row’s own ceiling: that',
        body: { max_tokens: 10_000 },
        tokens: 8192,
        reserved: helloBound + 16_384,
      },
      {
        name: 'left out, and the ceiling is lower',
        body: { model: 'fake/small/chat', max_tokens: undefined },
        tokens: 300,
        reserved: helloBound + 600,
      },
      {
        name: 'a prompt beyond the window: the window',
        body: {
          model: 'fake/small/chat',
          max_tokens: 1,
          messages: [{ role: 'user', content: '7'.repeat(5_000) }],
        },
        tokens: 1,
        reserved: 1_000 + 2,
      },
      {
        name: 'a digit is a token, a picture 4096',
        body: {
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: '12345' },
                { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
              ],
            },
          ],
        },
        tokens: 100,
        reserved: 128 + 16 + 5 + 4096 + 200,
      },
    ];
  for (const { name, body, tokens, reserved } of cases) {
    test(name, async () => {
      let held = 0n;
      service.fake.behave.chat = async () => {
        held = (await service.balance(account)).reserved;
        return said('x', { prompt_tokens: 1, completion_tokens: 1 });
      };
      const reply = await chat(body).finally(() => (service.fake.behave = {}));
      assert.equal(reply.status, 200, reply.text);
      assert.equal(held, BigInt(reserved));
      const asked = service.fake.chats.at(-1)!;
      assert.equal(asked.body.max_tokens, tokens);
      assert.equal(asked.context_tokens, asked.model === 'small' ? 1_000 : 100_000);
      assert.equal(reply.headers.get('x-charge-usd-micro'), '3');
    });
  }

  test('fields that change the price and unknown ones do not pass; allowed ones do', async () => {
    const passes = {
      temperature: 0.5,
      top_p: 1,
      seed: 7,
      stop: ['x'],
      user: 'u',
      tools: [{ type: 'function', function: { name: 'f' } }],
    };
    const dropped = {
      service_tier: 'priority',
      store: true,
      metadata: {},
      prediction: {},
      web_search_options: {},
      modalities: ['audio'],
      n: 1,
      nonsense: 1,
    };
    const reply = await chat({ ...passes, ...dropped });
    assert.equal(reply.status, 200, reply.text);
    const call = service.fake.chats.at(-1)!;
    assert.deepEqual(call.body, { messages: hello, max_tokens: 100, ...passes });
    assert.equal(call.model, 'chat');
    assert.equal(call.stream, false);
  });

  test('the last micro-USD decides', async () => {
    const need = helloBound + 200;
    const enough = await service.account({ usd: need / 1e6 });
    const short = await service.account({ usd: (need - 1) / 1e6 });
    assert.equal((await chat({}, { key: enough.key })).status, 200);
    const earlier = await traces(service);
    const error = assertRefused(await chat({}, { key: short.key }), 'insufficient_balance');
    assert.deepEqual(error.details, {
      required_usd_micro: '348',
      available_usd_micro: '347',
      reserved_usd_micro: '0',
      top_up: [],
    });
    assert.deepEqual(await traces(service), earlier);
  });
});

describe('the charge', () => {
  const counted = helloCount + 2 * 10;
  const cases: [name: string, usage: unknown, cost: number][] = [
    ['the upstream’s own figures', { prompt_tokens: 7, completion_tokens: 3 }, 13],
    ['zero is a figure', { prompt_tokens: 0, completion_tokens: 0 }, 0],
    ['zero completion tokens', { prompt_tokens: 7, completion_tokens: 0 }, 7],
    ['above the reservation: the reservation', { prompt_tokens: 7, completion_tokens: 5_000 }, 348],
    ['the reservation to the last micro-USD', { prompt_tokens: 148, completion_tokens: 100 }, 348],
    ['one token below it', { prompt_tokens: 147, completion_tokens: 100 }, 347],
    ['completion tokens only: the prompt is counted', { completion_tokens: 3 }, helloCount + 6],
    ['no usage: counted', undefined, counted],
    ['null: counted', null, counted],
    ['negative: counted', { prompt_tokens: 7, completion_tokens: -1 }, counted],
    ['negative prompt: counted', { prompt_tokens: -7, completion_tokens: 1 }, counted],
    ['as texts', { prompt_tokens: '7', completion_tokens: '3' }, 13],
    ['fractions: counted', { prompt_tokens: 7, completion_tokens: 2.5 }, counted],
    ['beyond whole numbers: counted', { prompt_tokens: 7, completion_tokens: 2 ** 53 }, counted],
    ['a list: counted', [7, 3], counted],
    ['empty: counted', {}, counted],
  ];
  for (const [name, usage, expected] of cases) {
    test(name, async () => {
      const { reply, cost } = await charged(said(forty, usage));
      assert.equal(reply.status, 200);
      assert.equal(cost, BigInt(expected));
      assert.equal(reply.body.usage.cost_usd_micro, String(expected));
      assert.equal(reply.headers.get('x-charge-usd-micro'), String(expected));
      const { prompt_tokens, completion_tokens, total_tokens } = reply.body.usage;
      assert.equal(total_tokens, prompt_tokens + completion_tokens);
    });
  }

  test('an empty reply with a proper end: the prompt', async () => {
    const { reply, cost } = await charged(said('', undefined));
    assert.equal(reply.status, 200);
    assert.equal(cost, BigInt(helloCount));
  });

  test('tool calls are output too', async () => {
    const call = {
      id: 'c',
      type: 'function',
      function: { name: 'weather', arguments: '{"a":12345}' },
    };
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
    const { reply, cost } = await charged({
      outcome: 'reply',
      reply: { ...completion('', null), choices },
    });
    assert.deepEqual(reply.body.choices[0].message, { ...message, refusal: null });
    // 7 letters of the name and 11 of the arguments make 5 tokens.
    assert.equal(cost, BigInt(helloCount + 10));
  });

  test('finished in error after some output: what was delivered', async () => {
    const { reply, cost } = await charged(said(forty, undefined, 'error'));
    assert.equal(reply.status, 200);
    assert.equal(cost, BigInt(counted));
  });

  const failing: [name: string, outcome: SaidReply][] = [
    ['finished in error without output', said('', undefined, 'error')],
    [
      'finished in error without output, whatever its usage says',
      said('', { prompt_tokens: 7, completion_tokens: 9 }, 'error'),
    ],
    [
      'the upstream’s own error in place of a reply',
      { outcome: 'reply', reply: { error: { message: 'sk-upstream0123456789abcdef' } } },
    ],
  ];
  for (const [name, outcome] of failing) {
    test(`${name}: nothing`, async () => {
      const { reply, cost } = await charged(outcome);
      assertRefused(reply, 'submit_failed');
      assert.equal(cost, 0n);
      assert.doesNotMatch(reply.text, /sk-upstream/);
    });
  }
});

describe('a call that the upstream did not accept is released', () => {
  const cases: {
    name: string;
    outcome: SaidReply | Error;
    code: ErrorCode;
    failure: string;
    retryAfter?: string;
  }[] = [
    {
      name: 'rejected',
      outcome: { outcome: 'rejected', message: 'no cats\0\ud800' },
      code: 'invalid_input',
      failure: 'upstream_rejected',
    },
    {
      name: 'not accepted',
      outcome: { outcome: 'not_accepted', message: 'busy', retry_after_ms: 6_100 },
      code: 'capacity_unavailable',
      failure: 'upstream_failed',
      retryAfter: '7',
    },
    {
      name: 'not accepted for an hour',
      outcome: { outcome: 'not_accepted', message: 'busy', retry_after_ms: 3_600_000 },
      code: 'capacity_unavailable',
      failure: 'upstream_failed',
      retryAfter: '60',
    },
    {
      name: 'unknown',
      outcome: { outcome: 'unknown', message: 'reset by 10.1.2.3' },
      code: 'submit_failed',
      failure: 'outcome_unknown',
    },
    {
      name: 'a fault of the adapter',
      outcome: new Error('kaboom 10.1.2.3'),
      code: 'submit_failed',
      failure: 'outcome_unknown',
    },
  ];
  // Each case begins after the pause of the case before.
  beforeEach(() => wellAgain(service));

  for (const { name, outcome, code, failure, retryAfter } of cases) {
    test(name, async () => {
      const earlier = await books();
      service.fake.behave.chat = () => {
        if (outcome instanceof Error) throw outcome;
        return outcome;
      };
      const reply = await chat({}).finally(() => (service.fake.behave = {}));
      assertRefused(reply, code);
      assert.equal(reply.headers.get('retry-after'), retryAfter ?? null);
      assert.doesNotMatch(reply.text, /kaboom|10\.1\.2\.3/);
      const later = await books();
      assert.deepEqual([later.available, later.reserved], [earlier.available, 0n]);
      const [row] = await service.db.run<{ error_code: string }>(sql`
        select error_code, charged_usd_micro from requests order by id desc limit 1`);
      assert.deepEqual(row, { error_code: failure, charged_usd_micro: 0n });
    });
  }
});
