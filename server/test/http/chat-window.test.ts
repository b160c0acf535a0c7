import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { assertRefused } from '../kit/refusal.ts';
import { fakeCatalog, startService, type Service, type TestAccount } from '../kit/service.ts';
import { traces } from '../kit/traces.ts';

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

let service: Service;
let account: TestAccount;
before(async () => {
  service = await startService({ catalog });
  account = await service.account();
});
after(async () => {
  await service.audit();
  await service.stop();
});

/** A prompt of so many tokens: 128 for the call, 16 for the message, one for each digit. */
const digits = (tokens: number) => '7'.repeat(tokens - 128 - 16);
const bodyOf = (model: string, content: unknown, more: object = {}) => ({
  model: `fake/${model}`,
  messages: [{ role: 'user', content }],
  max_tokens: 1,
  ...more,
});
const call = (path: string, body: object) => service.call('POST', path, { key: account.key, body });
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
  });

  test('gives no estimate of a longer one, and says so in the catalog', async () => {
    const input = bodyOf('cut', digits(window + 1));
    const reply = await call('/v1/estimate', { model_id: 'fake/cut', input });
    assertRefused(reply, 'context_length_exceeded');
    const { body } = await service.call('GET', '/v1/models/fake/cut');
    assert.deepEqual([body.context_tokens, body.refuse_longer_prompts], [window, true]);
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
