import assert from 'node:assert/strict';
import type { ErrorCode } from '../../../src/core/errors.ts';
import type { Reply } from '../../kit/service.ts';
import { marker, post, type Row, type World } from './row.ts';

/** Chat calls that are invalid: refused before anything is reserved or sent to the model. */

const said = { role: 'user', content: marker };
const saidTimes = (count: number) => Array.from({ length: count }, () => said);

function chat(change: Record<string, unknown>) {
  const body = { model: 'fake/chat', messages: [said], ...change };
  return post('/v1/chat/completions', JSON.stringify(body));
}

/** One row for each value of a field. */
function each(field: string, code: ErrorCode, values: unknown[]): Row[] {
  return values.map((value) => [
    `a chat with ${field} ${JSON.stringify(value)}`,
    chat({ [field]: value }),
    [code],
  ]);
}

const noMessages = [undefined, null, '', 'hi', 5, true, {}, [], [null], ['hi'], [[]], [5], [{}]];
const limits = [0, -1, 1.5, '5', true, [5], {}, -0, 2 ** 53, 1e308, 5e-324];
const roles = [null, 5, '', 'User', 'root', ['user'], {}, '__proto__', 'constructor'];
const contents = [
  5,
  null,
  true,
  {},
  [],
  [5],
  [null],
  [[]],
  [{}],
  [{ type: 'text' }],
  [{ type: 'text', text: 5 }],
  [{ type: 'constructor' }],
  [{ type: 'image_url' }],
  [{ type: 'image_url', image_url: 'x' }],
  [{ type: 'image_url', image_url: { url: '' } }],
  [{ type: 'input_audio', input_audio: {} }],
  [{ type: 'file', file: {} }],
  [{ type: 'text', text: 'x' }, 'y'],
];

export const refused: Row[] = [
  ...each('messages', 'bad_messages', [
    ...noMessages,
    ...roles.map((role) => [{ role, content: 'x' }]),
    ...contents.map((content) => [said, { role: 'user', content }]),
    [{ role: 'assistant', tool_calls: 'x' }],
  ]),
  ['a chat of 10,001 messages', chat({ messages: saidTimes(10_001) }), ['bad_messages']],
  ...each('stream', 'bad_request', ['true', 1, 'yes', [], {}]),
  ...each('max_tokens', 'bad_request', limits),
  [
    'a chat with two limits that differ',
    chat({ max_tokens: 5, max_completion_tokens: 6 }),
    ['bad_request'],
  ],
  ...each('n', 'bad_request', [0, 2, -1, '1', 1.5, true]),
  ...each('stop', 'bad_request', [5, ['a', 5]]),
  // A web search has a fee of its own.
  ...each('tools', 'bad_request', [{}, [{ type: 'web_search' }]]),
  ...each('temperature', 'bad_request', ['1']),
  ...[true, { include_usage: 'x' }].map((stream_options): Row => [
    `a chat with stream_options ${JSON.stringify(stream_options)}`,
    chat({ stream: true, stream_options }),
    ['bad_request'],
  ]),
  ...each('model', 'bad_request', [undefined, 5, '']),
  ...each('model', 'unknown_model', ['constructor']),
  [
    'a chat with a model of 100,000 letters',
    chat({ model: 'm'.repeat(100_000) }),
    ['unknown_model'],
  ],
];

export const taken: Row[] = [
  ['of 10,000 messages', { messages: saidTimes(10_000) }],
  ['of empty words', { messages: [{ role: 'user', content: '' }] }],
  ['of the most tokens a number can name', { max_tokens: Number.MAX_SAFE_INTEGER }],
  ['of 2^31 tokens', { max_tokens: 2 ** 31 }],
  ['of one token', { max_tokens: 1 }],
  ['of nulls', { max_tokens: null, stream: null, n: null, stop: null, tools: null }],
  ['of unknown fields', { service_tier: 'x', a: { b: [1] } }],
].map(([name, change]) => [
  `a chat ${name as string}`,
  chat(change as Record<string, unknown>),
  [200],
  assertBounded,
]);

/** Asserts that no more is reserved than the model's longest reply costs. */
async function assertBounded(reply: Reply, { account }: World): Promise<void> {
  const path = `/v1/requests/${reply.body.id.replace('chatcmpl-', '')}`;
  const card = await account.get(path);
  assert.ok(BigInt(card.body.quoted_usd_micro) <= 100_000n + 2n * 8_192n);
}
