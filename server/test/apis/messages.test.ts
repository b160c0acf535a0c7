import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { openEvents } from '../kit/events.ts';
import { assertRefused } from '../kit/refusal.ts';
import type { Reply } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';
import type { Answer } from '../upstreams/fakes/kit.ts';
import {
  chunkOf,
  eventsOf,
  replyOf,
  streamOf,
  usual,
  usualChunks,
} from '../upstreams/fakes/openai-chat.ts';
import { fakeOpenai, type FakeOpenai } from '../upstreams/fakes/openai.ts';
import { malformed } from './messages-malformed.ts';

/**
 * The Messages call with the real adapter and its fake: a chat in another form, for the same money.
 */

type Json = Record<string, any>;

const catalog = (url: string) => `
upstream: { name: bench, adapter: openai, url: "${url}", key_from: BENCH_KEY }
models:
  - id: bench/chat
    kind: text
    task: chat
    name: Chat
    price: { unit: 1M tokens, input_usd: "3", output_usd: "15" }
    context_tokens: 100000
    max_output_tokens: 8192
    on_disconnect: stop
    input_modalities: [text, image]
    upstream_model: gpt-fake
`;

let fake: FakeOpenai;
after(async () => {
  const { reserved } = await service.balance(account);
  assert.equal(reserved, 0n);
});
const { service, account } = withService(async (use) => {
  fake = use(await fakeOpenai());
  return {
    catalog: catalog(fake.url),
    env: { BENCH_KEY: fake.key, FAREBOX_TEST_PUBLIC_HOSTS: new URL(fake.url).host },
  };
});

const path = '/v1/messages';
const hello = {
  model: 'bench/chat',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'Hello.' }],
};
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const create = (body: Json, headers: Record<string, string> = {}) =>
  account.post(path, body, { headers });

/** Errors of earlier scenes pause the upstream. */
const mend = () => service.db.run(rawSql('delete from upstreams'));

async function charged(call: () => Promise<unknown>): Promise<bigint> {
  const before = (await service.balance(account)).available;
  await call();
  const now = await until('settled', async () => {
    const { available, reserved } = await service.balance(account);
    return reserved === 0n ? { available } : null;
  });
  return before - now.available;
}

function eventsIn({ text }: Pick<Reply, 'text'>): Json[] {
  const events = text.split('\n\n').filter((each) => each.startsWith('event: '));
  return events.map((each) => JSON.parse(each.slice(each.indexOf('data: ') + 6)));
}

const tool = { name: 'look', input_schema: { type: 'object' } };
const chatTool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };
const lookCall = {
  id: 'call_1',
  type: 'function',
  function: { name: 'look', arguments: '{"at":"a"}' },
};
const url = `data:image/png;base64,${png}`;
const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
const asImage = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } };
const say = (content: Json[]) => ({ messages: [{ role: 'user', content }] });

interface Scene {
  what: string;
  /** The same call in both forms. */
  messages?: Json;
  chat?: Json;
  whole: Answer;
  streamed: () => Answer;
  status?: number;
  /** The stream ends with an error. */
  breaks?: true;
}

const said = (message: Json, finish_reason = 'stop') => ({
  whole: {
    json: replyOf({
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    }),
  },
  streamed: () =>
    streamOf(
      eventsOf([
        chunkOf({
          ...message,
          ...(message.tool_calls && {
            tool_calls: message.tool_calls.map((each: Json, index: number) => ({ index, ...each })),
          }),
        }),
        chunkOf({}, {}, finish_reason),
        chunkOf({}, { choices: [], usage: usual }),
      ]),
    ),
});
const text = said({ content: 'Hello, wörld' });
const failing: Answer = { status: 500, json: { error: { message: 'HIDDEN' } } };

const scenes: Scene[] = [
  { what: 'a text', ...text },
  { what: 'a long text', ...said({ content: 'word '.repeat(5_000) }, 'length') },
  {
    what: 'a tool call',
    messages: { tools: [tool], tool_choice: { type: 'any' } },
    chat: { tools: [chatTool], tool_choice: 'required' },
    ...said({ content: null, tool_calls: [lookCall] }, 'tool_calls'),
  },
  {
    what: 'an image',
    messages: say([{ type: 'text', text: 'Look' }, asImage]),
    chat: say([
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url } },
    ]),
    ...text,
  },
  {
    what: 'a schema',
    messages: { output_config: { format: { type: 'json_schema', schema } } },
    chat: {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'reply', schema, strict: true },
      },
    },
    ...said({ content: '{}' }),
  },
  { what: 'a refusal', ...said({ content: null, refusal: 'No.' }) },
  { what: 'reasoning', ...said({ content: 'Yes', reasoning: 'Hm.' }) },
  {
    what: 'a reply without usage',
    whole: { json: replyOf({ usage: undefined }) },
    streamed: () => streamOf(eventsOf(usualChunks(null))),
  },
  { what: 'an upstream that fails', whole: failing, streamed: () => failing, status: 502 },
  {
    what: 'a reply that breaks off',
    ...text,
    streamed: () =>
      streamOf(eventsOf([...usualChunks().slice(0, 3), { error: { message: 'HIDDEN' } }])),
    breaks: true,
  },
];

describe('costs and asks the same as the chat call:', () => {
  for (const stream of [false, true])
    for (const scene of scenes)
      test(`${scene.what}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const { whole, streamed, status = 200, breaks } = scene;
        const answer = stream ? streamed : () => whole;
        const more = stream ? { stream } : {};
        await mend();
        fake.chat.script(answer());
        let reply!: Reply;
        const cost = await charged(async () => {
          reply = await create({ ...hello, ...scene.messages, ...more });
        });
        await mend();
        fake.chat.script(answer());
        const chat = { ...hello, ...scene.chat, ...more };
        const ofChat = await charged(() => account.post('/v1/chat/completions', chat));
        assert.equal(cost, ofChat);
        assert.deepEqual(fake.chat.asked.at(-2), fake.chat.asked.at(-1));
        assert.equal(reply.status, status, reply.text);
        assert.doesNotMatch(reply.text, /HIDDEN/);
        assert.equal(reply.headers.get('request-id'), reply.headers.get('x-request-id'));
        if (status !== 200) return void assertRefused(reply, 'submit_failed');
        const events = stream ? eventsIn(reply) : [];
        const { usage } = stream
          ? events.find(({ type }) => type === 'message_delta')!
          : reply.body;
        assert.equal(usage.cost_usd_micro, String(cost));
        assert.ok(cost > 0n);
        if (!stream) assert.equal(reply.headers.get('x-charge-usd-micro'), String(cost));
        else assert.equal(events.at(-1)!.type, breaks && stream ? 'error' : 'message_stop');
        if (breaks && stream) {
          assert.equal(events.at(-1)!.error.code, 'submit_failed');
          assert.equal(events.at(-1)!.request_id, reply.headers.get('x-request-id'));
        }
      });
});

test('a caller who leaves pays what was delivered, as for a chat call', async () => {
  const left = async (at: string, body: Json) => {
    const gate = Promise.withResolvers<void>();
    fake.chat.script(
      streamOf(
        (async function* () {
          yield eventsOf(usualChunks().slice(0, 3), { done: false });
          await gate.promise;
        })(),
      ),
    );
    const gone = fake.chat.abandoned();
    return charged(async () => {
      const events = await openEvents(service.base, at, {
        key: account.key,
        body: { ...body, stream: true },
      });
      for (;;) if ((await events.next())!.data?.includes('lo, ')) break;
      events.leave();
      await gone;
      gate.resolve();
    });
  };
  const cost = await left(path, hello);
  assert.ok(cost > 0n);
  assert.equal(cost, await left('/v1/chat/completions', hello));
});

test('a repeat with the same Idempotency-Key gets the same message, whole or streamed, for nothing', async () => {
  for (const stream of [false, true]) {
    fake.chat.script(stream ? streamOf(eventsOf(usualChunks())) : { json: replyOf() });
    const headers = { 'idempotency-key': `k-${stream}` };
    const first = await create({ ...hello, stream }, headers);
    const cost = await charged(async () => {
      const again = await create({ ...hello, stream }, headers);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      if (!stream) assert.deepEqual(again.body, first.body);
      const told = (reply: Reply) => {
        const events = eventsIn(reply);
        return [
          events[0],
          ...events.slice(-2),
          events.map(({ delta }) => delta?.text ?? '').join(''),
        ];
      };
      assert.deepEqual(told(again), told(first));
    });
    assert.equal(cost, 0n);
    // The same key at the other API is another call.
    const other = await account.post('/v1/chat/completions', { ...hello, stream }, { headers });
    assertRefused(other, 'idempotency_conflict');
  }
});

test("the model's thinking reaches it again on the next turn", async () => {
  const detail = {
    type: 'reasoning.text',
    text: 'Hm.',
    signature: 'SIG',
    format: 'anthropic-claude-v1',
    index: 0,
  };
  fake.chat.script(said({ content: 'Yes', reasoning: 'Hm.', reasoning_details: [detail] }).whole);
  const { body } = await create({ ...hello, thinking: { type: 'enabled', budget_tokens: 2_000 } });
  assert.deepEqual(body.content[0], { type: 'thinking', thinking: 'Hm.', signature: 'SIG' });
  const messages = [
    ...hello.messages,
    { role: 'assistant', content: body.content },
    { role: 'user', content: 'Sure?' },
  ];
  await create({ ...hello, messages });
  const [first, second] = fake.chat.asked.slice(-2) as Json[];
  assert.equal(first!.reasoning_effort, 'low');
  assert.deepEqual(second!.messages[1].reasoning_details, [detail]);
});

describe('is refused with the caller’s own field named, and leaves nothing:', () => {
  for (const [what, change, code, param] of malformed)
    test(what, async () => {
      const body: Json = { ...hello, ...change };
      const before = await traces(service);
      const asked = fake.chat.asked.length;
      const reply = await create(body);
      const error = assertRefused(reply, code);
      assert.equal(error.param, param);
      assert.equal(reply.body.type, 'error');
      assert.equal(reply.body.error.type, 'invalid_request_error');
      if (param) assert.ok(error.message.includes(param), error.message);
      assert.doesNotMatch(error.message, /image_url|file_data|type file\b|tool_calls/);
      const counted = await account.post(`${path}/count_tokens`, body);
      if (what !== 'no max_tokens') assertRefused(counted, code);
      else assert.equal(counted.status, 200);
      assert.deepEqual(await traces(service), before);
      assert.equal(fake.chat.asked.length, asked, 'the upstream was asked');
    });
});

describe('other refusals have the form of Anthropic:', () => {
  const rows: [
    what: string,
    call: () => Promise<Reply>,
    code: Parameters<typeof assertRefused>[1],
    type: string,
  ][] = [
    [
      'no key',
      () => service.call('POST', path, { body: hello }),
      'unauthorized',
      'authentication_error',
    ],
    ['no such address', () => account.post(`${path}/batches`, {}), 'not_found', 'not_found_error'],
    ['a doubled /v1', () => account.post(`/v1${path}`, hello), 'not_found', 'not_found_error'],
    ['another method', () => account.get(path), 'method_not_allowed', 'invalid_request_error'],
    [
      'no JSON',
      () =>
        service.call('POST', path, {
          key: account.key,
          raw: '{',
          headers: { 'content-type': 'application/json' },
        }),
      'bad_request',
      'invalid_request_error',
    ],
    [
      'a body too large',
      () => account.post(path, { ...hello, system: 'x'.repeat(11 * 2 ** 20) }),
      'payload_too_large',
      'request_too_large',
    ],
  ];
  for (const [what, call, code, type] of rows)
    test(what, async () => {
      const reply = await call();
      assertRefused(reply, code);
      assert.equal(reply.body.error.type, type);
      assert.equal(reply.headers.get('request-id'), reply.body.request_id);
    });

  test('an empty balance, which says what is missing', async () => {
    const { key } = await service.account({ usd: 0 });
    const reply = await service.call('POST', path, { key, body: hello });
    const { details } = assertRefused(reply, 'insufficient_balance');
    assert.equal(reply.body.error.type, 'billing_error');
    assert.ok(BigInt(details.required_usd_micro) > 0n);
    const counted = await service.call('POST', `${path}/count_tokens`, { key, body: hello });
    assert.equal(counted.status, 200);
  });
});
