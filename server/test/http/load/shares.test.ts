import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { openEvents } from '../../kit/events.ts';
import { held } from '../../kit/held.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';

/** Resources that accounts share: one account cannot take them from the others. */

const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hello' }], max_tokens: 1 };
let other: TestAccount;
const { service, account: greedy } = withService({
  times: { streamGrantsMs: 100 },
  account: { usd: 1 },
});
before(async () => void (other = await service.account()));

/** Sends bytes and keeps the connection open. `text` is the reply so far. */
function send(base: string, bytes: string): { socket: Socket; text: string } {
  const { hostname, port } = new URL(base);
  const open = { socket: connect({ host: hostname, port: Number(port) }), text: '' };
  open.socket.on('error', () => {});
  open.socket.on('data', (chunk) => (open.text += chunk.toString()));
  open.socket.write(bytes);
  return open;
}

function slowBody(key: string): string {
  return (
    `POST /v1/estimate HTTP/1.1\r\nhost: x\r\nauthorization: Key ${key}\r\n` +
    'content-type: application/json\r\ncontent-length: 100\r\n\r\n{'
  );
}

async function keysOf(account: TestAccount, count: number): Promise<string[]> {
  const made = Array.from({ length: count }, () => account.another());
  return (await Promise.all(made)).map(({ key }) => key);
}

const balance = (account: TestAccount, base: string) => account.get('/v1/balance', { base });

test('slow bodies of one account, with many keys, leave others their calls', async () => {
  const { app, base } = await service.another({ FAREBOX_IN_FLIGHT_MAX: '24' });
  const keys = await keysOf(greedy, 4);
  const all = Array.from({ length: 40 }, (_, i) => send(base, slowBody(keys[i % keys.length]!)));
  await until('those beyond the share are refused', () => {
    return all.filter(({ text }) => text.startsWith('HTTP/1.1')).length >= 40 - 6;
  });
  assert.ok(all.some(({ text }) => text.includes('the most that your share allows now')));
  assert.ok(app.metrics.counts.inFlight <= 12, `${app.metrics.counts.inFlight} are under way`);
  assert.equal((await balance(other, base)).status, 200);
  const wanted = { key: other.key, base, body: { model_id: 'fake/image', input: { prompt: 'x' } } };
  assert.equal((await service.call('POST', '/v1/estimate', wanted)).status, 200);
  for (const { socket } of all) socket.destroy();
  await until('all slots are free', () => app.metrics.counts.inFlight === 0);
  assert.equal((await balance(greedy, base)).status, 200);
});

test('hanging chats of one account leave others theirs', async () => {
  const { base } = await service.another({ FAREBOX_IN_FLIGHT_MAX: '8' });
  const gate = Promise.withResolvers<void>();
  const earlier = await traces(service);
  // Counted at the model, because a call counts for its account only once its key is checked.
  let atModel = 0;
  service.fake.behave.chat = async () => {
    atModel += 1;
    await gate.promise;
    return { outcome: 'rejected', message: 'that is enough' };
  };
  const keys = await keysOf(greedy, 4);
  const call = (key: string) =>
    service.call('POST', '/v1/chat/completions', { key, body: chat, base });
  const hanging = [];
  for (let i = 0; i < 4; i++) {
    hanging.push(call(keys[i]!));
    await until(`${i + 1} are at the model`, () => atModel === i + 1);
  }
  try {
    assertRefused(await call(keys[0]!), 'rate_limited');
    assert.equal((await balance(other, base)).status, 200);
    const calls = [call(other.key), call(other.key)];
    await until('those of the other are at the model too', () => atModel === 6);
    hanging.push(...calls);
  } finally {
    gate.resolve();
  }
  for (const reply of await Promise.all(hanging)) assertRefused(reply, 'invalid_input');
  service.fake.behave = {};
  const later = await traces(service);
  assert.deepEqual([later.reserved, later.charged], [earlier.reserved, earlier.charged]);
});

describe('streams and waits', () => {
  async function submitted(account: TestAccount): Promise<string> {
    const call = { key: account.key, body: { prompt: 'x' } };
    return (await service.call('POST', '/v1/queue/fake/image', call)).body.request_id;
  }

  test('of one account leave others theirs', async () => {
    const { base } = await service.another({ FAREBOX_STREAMS_MAX: '8' });
    const mine = `/v1/requests/${await submitted(greedy)}/status`;
    const theirs = `/v1/requests/${await submitted(other)}/status`;
    const open = [];
    for (let i = 0; i < 4; i++) {
      open.push(await openEvents(base, `${mine}/stream`, { key: greedy.key }));
      assert.equal(open[i]!.status, 200);
    }
    const call = { key: greedy.key, base };
    assertRefused(await service.call('GET', `${mine}/stream`, call), 'rate_limited');
    const begun = performance.now();
    assert.equal((await service.call('GET', `${mine}?wait=30`, call)).body.status, 'IN_QUEUE');
    assert.ok(performance.now() - begun < 10_000, 'the wait was held');
    open.push(await openEvents(base, `${theirs}/stream`, { key: other.key }));
    assert.equal(open.at(-1)!.status, 200);
    for (const events of open) events.leave();
  });

  const losses: [string, (account: TestAccount) => Promise<unknown>][] = [
    [
      'its key is revoked',
      ({ key_id }) =>
        service.db.run(rawSql('update keys set revoked_at = now() where id = $1', [key_id])),
    ],
    [
      'its key expires',
      ({ key_id }) =>
        service.db.run(rawSql('update keys set expires_at = now() where id = $1', [key_id])),
    ],
    [
      'its key is rotated without an overlap',
      ({ key_id }) =>
        service.db.run(rawSql(`update keys set hash = sha256('another') where id = $1`, [key_id])),
    ],
    [
      'its account is suspended',
      ({ account_id }) =>
        service.db.run(sql`update accounts set status = 'suspended' where id = ${account_id}`),
    ],
  ];
  for (const [what, lose] of losses) {
    test(`end when ${what}, and those of others go on`, async () => {
      const account = await service.account();
      const path = `/v1/requests/${await submitted(account)}/status`;
      const theirs = `/v1/requests/${await submitted(other)}/status`;
      const { base, app } = service;
      const stays = await openEvents(base, `${theirs}/stream`, { key: other.key });
      const events = await openEvents(base, `${path}/stream`, { key: account.key });
      const call = { key: account.key, base };
      const { reply } = await held(
        app,
        () => service.call('GET', `${path}?wait=50`, call),
        () => other.get(theirs, { base }),
      );
      await lose(account);
      const last = (await events.rest()).at(-1);
      assert.equal(last?.event, 'end');
      assert.equal(JSON.parse(last.data).reason, 'access');
      assertRefused(await reply, 'unauthorized');
      assert.match((await stays.next())!.data, /IN_QUEUE/);
      await other.post(theirs.replace('/status', '/cancel'), undefined, { base });
      // Earlier events may be about the place in the queue.
      assert.match((await stays.rest()).at(-1)!.data, /CANCELLED/);
    });
  }
});
