import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { assertRefused } from '../../../kit/refusal.ts';
import { withService } from '../../../kit/with-service.ts';
import { traces } from '../../../kit/traces.ts';

/** Counts in a chat call are checked before the rest of it is read, at every door. */

const { service, account } = withService();

const many = (count: number, each: unknown) => Array.from({ length: count }, () => each);
/** The last one is wrong, which nobody reads. */
const parts = [...many(10_000, { type: 'text', text: 'x' }), { type: 'no such part' }];
const message = (content: unknown) => ({ role: 'user', content });
const messages = [...many(10_000, message('x')), { role: 'nobody' }];
/** Half of the parts in each of three messages. */
const spread = many(3, message(many(5_000, { type: 'text', text: 'x' })));
const model = 'fake/chat';

const doors: [path: string, field: string, call: (list: unknown) => object][] = [
  ['/v1/chat/completions', 'messages', (list) => ({ model, messages: list })],
  ['/v1/messages', 'messages', (list) => ({ model, max_tokens: 5, messages: list })],
  ['/v1/messages/count_tokens', 'messages', (list) => ({ model, messages: list })],
  ['/v1/responses', 'input', (list) => ({ model, input: list })],
];
const lists: [what: string, list: unknown, says: RegExp][] = [
  ['too many messages', messages, /at most 10000 messages/],
  ['too many parts in one message', [message(parts)], /at most 10000 parts/],
  ['too many parts in all messages', spread, /at most 10000 parts/],
];

describe('a call is refused before its parts are read, for', () => {
  for (const [path, field, call] of doors)
    for (const [what, list, says] of lists)
      test(`${what} at ${path}`, async () => {
        const earlier = await traces(service);
        const { key } = account;
        const reply = await service.call('POST', path, { key, body: call(list) });
        const error = assertRefused(reply, 'bad_messages');
        assert.match(error.message, says);
        assert.equal(error.param, field);
        assert.equal(error.details.max_items, 10_000);
        assert.deepEqual(await traces(service), earlier);
      });
});

const tools: [what: string, list: unknown[]][] = [
  ['too many tools', many(1_001, { type: 'no such tool' })],
  ['too many tools inside others', many(2, { type: 'namespace', tools: many(500, {}) })],
];

describe('a call is refused before its tools are read, for', () => {
  for (const [path, field, call] of doors)
    for (const [what, list] of tools)
      test(`${what} at ${path}`, async () => {
        const earlier = await traces(service);
        const { key } = account;
        const body = { ...call([message('x')]), tools: list };
        const error = assertRefused(
          await service.call('POST', path, { key, body }),
          'bad_messages',
        );
        assert.match(error.message, /^tools must hold at most 1000 tools/, field);
        assert.deepEqual([error.param, error.details.max_items], ['tools', 1_000]);
        assert.deepEqual(await traces(service), earlier);
      });
});

test('the count of a prompt ends at the context window of the model', async () => {
  const body = { model, messages: [message('word '.repeat(400_000))] };
  const { key } = account;
  const reply = await service.call('POST', '/v1/messages/count_tokens', { key, body });
  assert.deepEqual(reply.body, { input_tokens: 100_000 });
});
