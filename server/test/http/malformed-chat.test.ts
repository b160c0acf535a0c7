import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../src/core/errors.ts';
import { assertRefused } from '../kit/refusal.ts';
import { assertUnharmed } from '../kit/rough.ts';
import { startService, type Reply, type Service, type TestAccount } from '../kit/service.ts';
import { traces } from '../kit/traces.ts';

/** Chat calls that are no good ones: refused before anything is reserved or sent to the model. */

const marker = 'PROMPT-MARKER-c4a7';
let service: Service;
let account: TestAccount;
before(async () => {
  service = await startService();
  account = await service.account({ usd: 100 });
});
after(async () => {
  await service.audit();
  await service.stop();
});

/** Sends bytes as JSON; whatever they are, the answer comes soon. */
function post(path: string, raw: string | Buffer): Promise<Reply> {
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(10_000);
  return service.call('POST', path, { key: account.key, raw, headers, signal });
}

describe('a chat that is', () => {
  const said = { role: 'user', content: marker };
  const refused: [string, Record<string, unknown>, ErrorCode][] = [
    ['without messages', { messages: undefined }, 'bad_messages'],
    ...[null, '', 'hi', 5, true, {}, [], [null], ['hi'], [[]], [5], [{}]].map(
      (messages): [string, Record<string, unknown>, ErrorCode] => [
        `of messages ${JSON.stringify(messages)}`,
        { messages },
        'bad_messages',
      ],
    ),
    ...[null, 5, '', 'User', 'root', ['user'], {}, '__proto__', 'constructor'].map(
      (role): [string, Record<string, unknown>, ErrorCode] => [
        `of the role ${JSON.stringify(role)}`,
        { messages: [{ role, content: 'x' }] },
        'bad_messages',
      ],
    ),
    ...[
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
    ].map((content): [string, Record<string, unknown>, ErrorCode] => [
      `of the content ${JSON.stringify(content)}`,
      { messages: [said, { role: 'user', content }] },
      'bad_messages',
    ]),
    [
      'of 10,001 messages',
      { messages: Array.from({ length: 10_001 }, () => said) },
      'bad_messages',
    ],
    [
      'of a tool call that is none',
      { messages: [{ role: 'assistant', tool_calls: 'x' }] },
      'bad_messages',
    ],
    ...['true', 1, 'yes', [], {}].map((stream): [string, Record<string, unknown>, ErrorCode] => [
      `streamed ${JSON.stringify(stream)}`,
      { stream },
      'bad_request',
    ]),
    ...[0, -1, 1.5, '5', true, [5], {}, -0, 2 ** 53, 1e308, 5e-324].map(
      (max_tokens): [string, Record<string, unknown>, ErrorCode] => [
        `of ${JSON.stringify(max_tokens)} tokens`,
        { max_tokens },
        'bad_request',
      ],
    ),
    ['of two limits that differ', { max_tokens: 5, max_completion_tokens: 6 }, 'bad_request'],
    ...[0, 2, -1, '1', 1.5, true].map((n): [string, Record<string, unknown>, ErrorCode] => [
      `of ${JSON.stringify(n)} replies`,
      { n },
      'bad_request',
    ]),
    ['of a stop that is a number', { stop: 5 }, 'bad_request'],
    ['of a stop of numbers', { stop: ['a', 5] }, 'bad_request'],
    ['of tools that are no list', { tools: {} }, 'bad_request'],
    ['of a tool with a fee of its own', { tools: [{ type: 'web_search' }] }, 'bad_request'],
    ['of a warm text', { temperature: '1' }, 'bad_request'],
    ['of options that are none', { stream: true, stream_options: true }, 'bad_request'],
    [
      'of a usage that is no flag',
      { stream: true, stream_options: { include_usage: 'x' } },
      'bad_request',
    ],
    ['without a model', { model: undefined }, 'bad_request'],
    ['of a model that is a number', { model: 5 }, 'bad_request'],
    ['of a model that is nothing', { model: '' }, 'bad_request'],
    ['of a model that every object has', { model: 'constructor' }, 'unknown_model'],
    ['of a model of 100,000 characters', { model: 'm'.repeat(100_000) }, 'unknown_model'],
  ];
  for (const [name, change, code] of refused) {
    test(`${name.slice(0, 80)} is refused, and reserves nothing`, async () => {
      const earlier = await traces(service);
      const body = { model: 'fake/chat', messages: [said], ...change };
      assertRefused(await post('/v1/chat/completions', JSON.stringify(body)), code);
      assert.deepEqual(await traces(service), earlier);
    });
  }

  const taken: [string, Record<string, unknown>][] = [
    ['of 10,000 messages', { messages: Array.from({ length: 10_000 }, () => said) }],
    ['of empty words', { messages: [{ role: 'user', content: '' }] }],
    ['of the most tokens a number can name', { max_tokens: Number.MAX_SAFE_INTEGER }],
    ['of 2^31 tokens', { max_tokens: 2 ** 31 }],
    ['of one token', { max_tokens: 1 }],
    [
      'of nulls where nothing is meant',
      { max_tokens: null, stream: null, n: null, stop: null, tools: null },
    ],
    ['of fields that nobody knows', { service_tier: 'x', a: { b: [1] } }],
  ];
  for (const [name, change] of taken) {
    test(`${name} is taken, and reserves no more than the model can say`, async () => {
      const body = { model: 'fake/chat', messages: [said], ...change };
      const reply = await post('/v1/chat/completions', JSON.stringify(body));
      assert.equal(reply.status, 200, reply.text.slice(0, 300));
      const id = reply.body.id.replace('chatcmpl-', '');
      const card = await service.call('GET', `/v1/requests/${id}`, { key: account.key });
      assert.ok(BigInt(card.body.quoted_usd_micro) <= 100_000n + 2n * 8_192n);
    });
  }
});

test('after all that nothing is harmed', () => assertUnharmed(service, account, marker));
