import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { inShort } from '../../kit/long.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { TestAccount } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';

/** The CPU time that large bodies take: one account cannot take it from the others. */

const { service, account: greedy } = withService({
  times: { shareWaitMs: 500 },
  account: { usd: 0 },
});

const messages = [{ role: 'user', content: 'hello' }];
/** Names that all differ take long to parse, so that the share is used up on a fast machine, too. */
const values = Array.from({ length: 45_000 }, (_, i) => ({ [`k${i}`]: 1 }));
const hello = { model: 'fake/chat', messages, max_tokens: 1 };

/** The same call in the form that holds images. */
function form(fields: Record<string, string>): FormData {
  const made = new FormData();
  for (const [name, text] of Object.entries({ model: 'fake/image', prompt: 'x', ...fields }))
    made.append(name, text);
  return made;
}

/** Doors that read large bodies, with one that is answered or refused. */
const doors: [path: string, body: object | FormData, status: number][] = [
  ['/v1/messages/count_tokens', { model: 'fake/chat', messages, metadata: { values } }, 200],
  ['/v1/images/edits', form({ metadata: JSON.stringify({ values }) }), 400],
  ['/v1/messages/count_tokens', { messages, values }, 400],
  ['/v1/messages', { ...hello, metadata: { values } }, 402],
  ['/v1/chat/completions', { ...hello, values }, 402],
  ['/v1/responses', { model: 'fake/chat', input: 'hello', values }, 402],
  ['/v1/estimate', { model_id: 'fake/image', input: { prompt: 'x', values } }, 400],
  ['/v1/queue/fake/image', { prompt: 'x', values }, 400],
  ['/v1/images/generations', { model: 'fake/image', prompt: 'x', values }, 400],
  ['/fal/fal.run/fake/image', { prompt: 'x', values }, 422],
];

describe('large bodies of one account', () => {
  for (const [path, body, status] of inShort(3, doors)) {
    test(`to ${path} that end with ${status} wait for their share, those of others do not`, async () => {
      const other = await service.account({ usd: 0 });
      const earlier = await traces(service);
      const post = ({ key }: TestAccount, sent: object | FormData) =>
        service.call('POST', path, {
          key,
          ...(sent instanceof FormData ? { raw: sent } : { body: sent }),
        });
      const [many, one] = await Promise.all([
        Promise.all(Array.from({ length: 24 }, () => post(greedy, body))),
        post(other, body),
      ]);
      assert.equal(one.status, status, one.text);
      const refused = many.filter((reply) => reply.status === 429);
      const rest = many.filter((reply) => reply.status !== 429);
      assert.ok(refused.length > 0, 'those beyond the share are refused');
      for (const reply of refused) {
        assertRefused(reply, 'rate_limited');
        assert.equal(reply.body.error.details.reason, 'account_share');
        assert.match(reply.headers.get('retry-after')!, /^[1-9]\d*$/);
      }
      for (const reply of rest) assert.equal(reply.status, status, reply.text);
      const later = await traces(service);
      assert.deepEqual([later.reserved, later.charged], [earlier.reserved, earlier.charged]);
    });
  }
});
