import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../../../src/core/errors.ts';
import { assertRefused } from '../../../kit/refusal.ts';
import type { CallOptions } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { traces } from '../../../kit/traces.ts';

/** Chat calls that are refused before anything is reserved, and what a 10 MiB body may hold. */

const { service, account } = withService();

const hello = [{ role: 'user', content: 'hello' }];
const mebibytes10 = 10 * 1024 * 1024;

type Case = [name: string, code: ErrorCode, param: string | null, body: Record<string, unknown>];

const messages = (name: string, value: unknown, param = 'messages'): Case => [
  `messages: ${name}`,
  'bad_messages',
  param,
  { messages: value },
];
const content = (name: string, value: unknown, param: string): Case =>
  messages(name, [{ role: 'user', content: value }], `messages[0].content${param}`);

const cases: Case[] = [
  messages('absent', undefined),
  messages('null', null),
  messages('none', []),
  messages('a text', 'hello'),
  messages('an object', { role: 'user', content: 'x' }),
  messages(
    'too many',
    Array.from({ length: 10_001 }, () => hello[0]),
  ),
  messages('one is a text', ['hello'], 'messages[0]'),
  messages('one is null', [hello[0], null], 'messages[1]'),
  messages('one without a role', [{ content: 'x' }], 'messages[0].role'),
  messages('one with a strange role', [{ role: 'God', content: 'x' }], 'messages[0].role'),
  messages('one with two roles', [{ role: ['user'], content: 'x' }], 'messages[0].role'),
  messages(
    'tool_calls that are no list',
    [{ role: 'assistant', tool_calls: {} }],
    'messages[0].tool_calls',
  ),
  messages('a system that says nothing', [{ role: 'system' }], 'messages[0].content'),
  messages('a user that says null', [{ role: 'user', content: null }], 'messages[0].content'),
  content('a number', 7, ''),
  content('an object', { text: 'x' }, ''),
  content('no part', [], ''),
  content('a text in a list', ['x'], '[0].type'),
  content('a part without type', [{ text: 'x' }], '[0].type'),
  content('a part from the future', [{ type: 'smell' }], '[0].type'),
  content('a part named like a method', [{ type: 'toString' }], '[0].type'),
  content('a text part without text', [{ type: 'text' }], '[0].text'),
  content('a picture without url', [{ type: 'image_url', image_url: {} }], '[0]'),
  content('a sound without format', [{ type: 'input_audio', input_audio: { data: 'x' } }], '[0]'),
  ['a model that is not there', 'unknown_model', 'model', { model: 'fake/none' }],
  ['a model that makes pictures', 'unknown_model', 'model', { model: 'fake/image' }],
  ['a model in other letters', 'unknown_model', 'model', { model: 'Fake/Chat' }],
  ['a model named like a method', 'unknown_model', 'model', { model: '__proto__' }],
  ['no model', 'bad_request', 'model', { model: undefined }],
  ['a model that is a list', 'bad_request', 'model', { model: ['fake/chat'] }],
  ['two choices', 'bad_request', 'n', { n: 2 }],
  ['no choice', 'bad_request', 'n', { n: 0 }],
  ['a choice as text', 'bad_request', 'n', { n: '1' }],
  ['stream as text', 'bad_request', 'stream', { stream: 'true' }],
  ['stream_options as text', 'bad_request', 'stream_options', { stream_options: 'usage' }],
  [
    'include_usage as number',
    'bad_request',
    'stream_options.include_usage',
    { stream_options: { include_usage: 1 } },
  ],
  ['no tokens', 'bad_request', 'max_tokens', { max_tokens: 0 }],
  ['negative tokens', 'bad_request', 'max_tokens', { max_tokens: -1 }],
  ['half a token', 'bad_request', 'max_tokens', { max_tokens: 1.5 }],
  ['tokens as text', 'bad_request', 'max_tokens', { max_tokens: '100' }],
  ['tokens beyond whole numbers', 'bad_request', 'max_tokens', { max_tokens: 1e300 }],
  [
    'two figures of tokens',
    'bad_request',
    'max_completion_tokens',
    { max_tokens: 1, max_completion_tokens: 2 },
  ],
  ['temperature as text', 'bad_request', 'temperature', { temperature: 'hot' }],
  [
    'a tool with a fee of its own',
    'bad_request',
    'tools[0].type',
    { tools: [{ type: 'web_search' }] },
  ],
  [
    'a NUL character',
    'bad_request',
    'messages[0].content',
    { messages: [{ role: 'user', content: 'a\0b' }] },
  ],
  ['half a surrogate pair', 'bad_request', 'user', { user: '\ud800' }],
];

for (const [name, code, param, body] of cases) {
  test(`${name} is ${code}, and leaves nothing`, async () => {
    const earlier = await traces(service);
    for (const stream of 'stream' in body ? [body.stream] : [false, true]) {
      const whole = { model: 'fake/chat', messages: hello, stream, ...body };
      const reply = await call({ body: whole });
      assert.equal(assertRefused(reply, code).param, param);
    }
    assert.deepEqual(await traces(service), earlier);
  });
}

function call(options: CallOptions) {
  return account.post('/v1/chat/completions', undefined, options);
}

test('a model that makes pictures: the message says where to send it', async () => {
  const reply = await call({ body: { model: 'fake/image', messages: hello } });
  assert.match(reply.body.error.message, /queue\/fake\/image/);
});

test('10 MiB are taken and one byte more is not, announced or not', async () => {
  const head = '{"model":"fake/chat","max_tokens":1,"messages":[{"role":"user","content":"';
  const tail = '"}]}';
  const whole = head + 'a'.repeat(mebibytes10 - head.length - tail.length) + tail;
  const headers = { 'content-type': 'application/json' };
  const taken = await call({ raw: whole, headers });
  assert.equal(taken.status, 200, taken.text.slice(0, 300));
  const earlier = await traces(service);
  for (const raw of [`${whole} `, new Blob([`${whole} `]).stream()]) {
    const error = assertRefused(await call({ raw, headers }), 'payload_too_large');
    assert.deepEqual(error.details, { max_bytes: mebibytes10 });
  }
  assert.deepEqual(await traces(service), earlier);
});
