import { test } from 'node:test';
import assert from 'node:assert/strict';
import { openEvents, type StreamEvent } from '../../../kit/events.ts';
import type { SaidReply } from '../../../kit/fake.ts';
import { fakeCatalog } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { delta, usageChunk } from '../../../kit/tap.ts';
import { until } from '../../../kit/until.ts';

/**
 * Streamed calls whose model is silent for long. The stream begins before the reply, and tells what
 * would have been the status of a refusal.
 */

const { service, account } = withService({ catalog: fakeCatalog, times: { silenceMs: 20 } });

const messages = [{ role: 'user', content: 'hello' }];
const bodies = {
  'chat/completions': { max_tokens: 100, messages },
  messages: { max_tokens: 100, messages },
  responses: { max_output_tokens: 100, input: 'hello' },
};
type Path = keyof typeof bodies;

/** The events of a call whose model answers only once its stream has begun, and what it cost. */
async function silent(path: Path, outcome: SaidReply) {
  const earlier = await service.balance(account);
  const begun = Promise.withResolvers<void>();
  service.fake.behave.chat = async () => {
    await begun.promise;
    return outcome;
  };
  const body = { model: 'fake/chat', stream: true, unknown_field: 1, ...bodies[path] };
  const stream = await openEvents(service.base, `/v1/${path}`, { key: account.key, body });
  begun.resolve();
  const events = await stream.rest();
  await until('it is settled', async () => (await service.balance(account)).reserved === 0n);
  const cost = earlier.available - (await service.balance(account)).available;
  return { ...stream, events, cost };
}

const textsIn = (events: StreamEvent[]) => events.map(({ data }) => data).join('\n');

for (const path of Object.keys(bodies) as Path[]) {
  test(`${path}: a reply after a long silence comes in the stream that has begun`, async () => {
    const chunks = [delta('late words'), usageChunk(5, 10)];
    const { status, headers, events, cost } = await silent(path, { outcome: 'stream', chunks });
    assert.equal(status, 200);
    assert.equal(headers['x-ignored-fields'], 'unknown_field');
    assert.match(textsIn(events), /late words/);
    assert.doesNotMatch(textsIn(events), /"error":\{/);
    assert.equal(cost, 25n);
  });

  const refusals: [what: string, outcome: SaidReply, code: RegExp][] = [
    ['refuses it', { outcome: 'rejected', message: 'no such picture' }, /invalid_input/],
    ['has no capacity', { outcome: 'not_accepted', message: 'full' }, /capacity_unavailable/],
    ['is lost', { outcome: 'unknown', message: 'reset' }, /submit_failed/],
  ];
  for (const [what, outcome, code] of refusals)
    test(`${path}: a stream says that its model ${what} after a long silence, and costs nothing`, async () => {
      const { status, events, cost } = await silent(path, outcome);
      assert.equal(status, 200);
      assert.match(textsIn(events), code);
      assert.equal(textsIn(events).split(/"error":\{/).length, 2, 'more than one error');
      assert.equal(cost, 0n);
    });
}

test('a whole reply keeps its own status, however long its model is silent', async () => {
  const asked = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  service.fake.behave.chat = async () => {
    asked.resolve();
    await over.promise;
    return { outcome: 'rejected', message: 'no such picture' };
  };
  const whole = fetch(`${service.base}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Key ${account.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fake/chat', messages }),
  });
  await asked.promise;
  // A stream that was called later has begun, so the silence of the whole reply is long enough.
  const body = { model: 'fake/chat', stream: true, messages };
  const stream = await openEvents(service.base, '/v1/chat/completions', { key: account.key, body });
  over.resolve();
  assert.equal((await whole).status, 400);
  assert.match(textsIn(await stream.rest()), /invalid_input/);
});
