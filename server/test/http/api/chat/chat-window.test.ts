import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { ReplyBroken } from '../../../../src/core/apis/read-reply.ts';
import type { ChatRefusal } from '../../../../src/core/chat/refusal.ts';
import { sql } from '../../../../src/lib/sql/sql.ts';
import { dataIn, doors } from '../../../apis/doors.ts';
import { assertRefused } from '../../../kit/refusal.ts';
import { fakeCatalog } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { traces } from '../../../kit/traces.ts';
import { until } from '../../../kit/until.ts';

/** Prompts around the end of a row's window. A prompt token costs one micro-USD. */

const window = 1_000;
const row = (id: string, more: string) => `  - id: ${id}
    kind: text
    task: chat
    name: Fake chat of a small window
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    upstream_model: chat
    context_tokens: ${window}
    max_output_tokens: 10
    input_modalities: [text, image, file]
    image_tokens: 900
${more}`;
const catalog = `${fakeCatalog}${row('fake/own-window', '')}${row('fake/cut', '    refuse_longer_prompts: true\n')}`;

const { service, account } = withService({ catalog });

/** A prompt of so many tokens: 128 for the call, 16 for the message, one for each digit. */
const digits = (tokens: number) => '7'.repeat(tokens - 128 - 16);
const bodyOf = (model: string, content: unknown, more: object = {}) => ({
  model: `fake/${model}`,
  messages: [{ role: 'user', content }],
  max_tokens: 1,
  ...more,
});
const call = (path: string, body: object) => account.post(path, body);
const say = (model: string, content: unknown, more: object = {}) =>
  call('/v1/chat/completions', bodyOf(model, content, more));

describe('a row with a shorter window than its model', () => {
  test('takes a prompt that fills its window', async () => {
    const asked = service.fake.chats.length;
    assert.equal((await say('cut', digits(window))).status, 200);
    assert.equal(service.fake.chats.length, asked + 1);
  });

  const pixel = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const longer: [what: string, content: unknown, more?: object][] = [
    ['by one token', digits(window + 1)],
    ['as a stream', digits(window + 1), { stream: true }],
    ['by its tools', 'hi', { tools: [{ type: 'function', function: { name: digits(window) } }] }],
    ['by a second image', [pixel, pixel]],
    ['by a file, whose tokens nobody knows', [{ type: 'file', file: { file_data: 'AAAA' } }]],
  ];
  for (const [what, content, more] of longer) {
    test(`refuses a longer one, ${what}, and asks and reserves nothing`, async () => {
      const earlier = await traces(service);
      const asked = service.fake.chats.length;
      const reply = await say('cut', content, more);
      const { message, param, details } = assertRefused(reply, 'context_length_exceeded');
      assert.equal(param, 'messages');
      assert.equal(details.reason, 'messages_too_long');
      assert.equal(details.limit_tokens, window);
      assert.match(message, /Your input exceeds the context window of this model\./);
      assert.deepEqual(await traces(service), earlier);
      assert.equal(service.fake.chats.length, asked);
    });
  }

  const prompt = digits(window + 1);
  const figures = `This model's maximum context length is ${window} tokens. However, your messages resulted in ${window + 1} tokens. `;

  test('says by how much, as OpenAI says it', async () => {
    const { message } = assertRefused(await say('cut', prompt), 'context_length_exceeded');
    assert.ok(message.startsWith(figures), message);
  });

  test('says so at /v1/messages as Anthropic says it, with nothing behind it', async () => {
    const reply = await call('/v1/messages', bodyOf('cut', prompt));
    const { type, message } = reply.body.error;
    assert.deepEqual(
      [reply.status, type, message],
      [
        400,
        'invalid_request_error',
        `prompt is too long: ${window + 1} tokens > ${window} maximum`,
      ],
    );
  });

  const response = { model: 'fake/cut', input: prompt };

  test('says so at /v1/responses, whole, by the name of its field', async () => {
    const reply = await call('/v1/responses', response);
    const { param } = assertRefused(reply, 'context_length_exceeded');
    assert.equal(param, 'input');
  });

  test('says so in a stream of /v1/responses, where its clients look for it', async () => {
    const reply = await call('/v1/responses', { ...response, stream: true });
    assert.equal(reply.status, 200);
    const events = [...reply.text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) =>
      JSON.parse(data!),
    );
    const [created, , error, failed] = events;
    assert.deepEqual(
      events.map(({ type }) => type),
      ['response.created', 'response.in_progress', 'error', 'response.failed'],
    );
    assert.equal(created.response.status, 'in_progress');
    const told = { code: 'context_length_exceeded', message: error.message };
    assert.deepEqual(error, {
      type: 'error',
      sequence_number: 2,
      ...told,
      param: 'input',
      error: { type: 'invalid_request_error', ...told, param: 'input' },
    });
    assert.deepEqual(failed.response.error, told);
    assert.ok(error.message.startsWith(figures));
    const call_id = reply.headers.get('x-request-id');
    const listed = await until('the refused call is listed', async () => {
      const { body } = await account.get('/v1/refusals?limit=100');
      return body.data.find((each: any) => each.call_id === call_id);
    });
    assert.deepEqual(
      [listed.status, listed.code, listed.reason, listed.model_id, listed.path],
      [400, 'context_length_exceeded', 'messages_too_long', 'fake/cut', '/v1/responses'],
    );
  });

  test('gives no estimate of a longer one, and says so in the catalog', async () => {
    const input = bodyOf('cut', digits(window + 1));
    const reply = await call('/v1/estimate', { model_id: 'fake/cut', input });
    assertRefused(reply, 'context_length_exceeded');
    const { body } = await service.call('GET', '/v1/models/fake/cut');
    assert.deepEqual([body.context_tokens, body.refuse_longer_prompts], [window, true]);
  });
});

describe('a model that refuses a call after its reply has begun', () => {
  const window = { limit: 8, given: 9, output: null };
  const tooLong = { reason: 'messages_too_long', param: null, window } as const;
  const policy = { ...tooLong, reason: 'content_policy' } as const;
  const words = "This model's maximum context length is 8 tokens.";

  /** The model says `texts` and then refuses. Returns the error of each door's stream. */
  async function refuseLate(refusal: ChatRefusal, texts: string[]) {
    service.fake.behave.chat = () => ({ outcome: 'stream', chunks: chunks() });
    async function* chunks() {
      for (const content of texts) yield { choices: [{ index: 0, delta: { content } }] };
      throw new ReplyBroken('broken', { message: 'No.' }, { message: 'No.', refusal });
    }
    const errors = [];
    for (const [door, { path, body }] of Object.entries(doors)) {
      const sent = { ...body({ text: 'hi' }), model: 'fake/own-window', stream: true };
      const reply = await call(path, sent);
      assert.equal(reply.status, 200);
      const data = dataIn(reply);
      const [error] = data.flatMap((each) => each.error ?? each.response?.error ?? []);
      errors.push(error);
      if (door === 'responses') assert.equal(data.at(-1)!.type, 'response.failed');
    }
    service.fake.behave.chat = undefined;
    return errors;
  }

  for (const texts of [[], ['Hello']])
    test(`tells a prompt that is too long, ${texts.length} texts later`, async () => {
      const said = await refuseLate(tooLong, texts);
      const [completion, message, response] = said;
      for (const { code } of said) assert.equal(code, 'context_length_exceeded');
      assert.ok(completion.message.startsWith(words));
      assert.equal(message.message, 'prompt is too long: 9 tokens > 8 maximum');
      assert.ok(response.message.startsWith(words));
    });

  test('charges nothing before the first text, and keeps the reason', async () => {
    const before = await traces(service);
    for (const { code, message, details } of await refuseLate(policy, []))
      assert.deepEqual(
        [code, message, details.reason],
        ['invalid_input', 'The model refused the input: No.', 'content_policy'],
      );
    const { charged, reserved } = await traces(service);
    assert.deepEqual([charged, reserved], [before.charged, before.reserved]);
    const [row] = await service.db.run(sql`select status, error_code from requests order by id desc
      limit 1`);
    assert.deepEqual({ ...row }, { status: 'FAILED', error_code: 'upstream_rejected' });
  });

  test('tells what was charged for, if a policy ends a reply', async () => {
    for (const { code, details } of await refuseLate(policy, ['Hello']))
      assert.deepEqual([code, details.reason], ['submit_failed', 'model_broke_off']);
  });
});

test('a row whose model refuses longer prompts reserves its window', async () => {
  const input = bodyOf('own-window', digits(window + 1));
  const asked = service.fake.chats.length;
  assert.equal((await call('/v1/chat/completions', input)).status, 200);
  assert.equal(service.fake.chats.length, asked + 1);
  const reply = await call('/v1/estimate', { model_id: 'fake/own-window', input });
  assert.equal(reply.body.price_usd_micro, String(window + 2));
  const { body } = await service.call('GET', '/v1/models/fake/own-window');
  assert.equal('refuse_longer_prompts' in body, false);
});
