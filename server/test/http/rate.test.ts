import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { assertRefused } from '../kit/refusal.ts';
import type { Reply, TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';

/** Calls a minute of a key: counted exactly, and reported on every reply to a key. */

let second: string;
const { service } = withService();
before(async () => {
  second = (await service.another()).base;
});

function list(account: TestAccount, base = service.base): Promise<Reply> {
  return account.get('/v1/requests?limit=1', { base });
}

function rate({ headers }: Reply) {
  const of = (name: string) => headers.get(name);
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((n) =>
    Number(of(`ratelimit-${n}`)),
  );
  assert.ok(reset! >= 1 && reset! <= 60, `reset ${reset}`);
  assert.equal(of('ratelimit-policy'), `"calls";q=${limit};w=60`);
  assert.equal(of('ratelimit'), `"calls";r=${remaining};t=${reset}`);
  return { limit, remaining, reset };
}

/** Moves the beginning of this key's minute into the past. */
function age(account: TestAccount, seconds: number) {
  return service.db.run(
    rawSql(
      `update key_windows set started_at = now() - ${seconds} * interval '1 s' where key_id = $1`,
      [account.key_id],
    ),
  );
}

describe('the rate headers', () => {
  test('count down to nothing, then the call is refused with the time to wait', async () => {
    const account = await service.account({ rpm: 3 });
    for (const remaining of [2, 1, 0]) {
      const reply = await list(account);
      assert.equal(reply.status, 200);
      assert.deepEqual({ ...rate(reply), reset: 60 }, { limit: 3, remaining, reset: 60 });
    }
    for (let i = 0; i < 3; i++) {
      const refused = await list(account);
      const { details } = assertRefused(refused, 'rate_limited');
      const { remaining, reset } = rate(refused);
      assert.equal(remaining, 0);
      assert.equal(refused.headers.get('retry-after'), String(reset));
      assert.deepEqual(details, { limit: 3, window_seconds: 60, resets_in_seconds: reset });
    }
  });

  test('tell how long the minute still lasts', async () => {
    const account = await service.account({ rpm: 3 });
    await list(account);
    await age(account, 40.5);
    const { remaining, reset } = rate(await list(account));
    assert.equal(remaining, 1);
    assert.ok(reset === 20 || reset === 19, `reset ${reset}`);
  });

  test('begin again after a minute', async () => {
    const account = await service.account({ rpm: 2 });
    await list(account);
    await list(account);
    assertRefused(await list(account), 'rate_limited');
    await age(account, 60);
    const reply = await list(account);
    assert.equal(reply.status, 200);
    assert.deepEqual(rate(reply), { limit: 2, remaining: 1, reset: 60 });
  });

  const replies: [string, string, string, number][] = [
    ['a success', 'GET', '/v1/requests', 200],
    ['a fault of the caller', 'GET', '/v1/requests?limit=0', 400],
    ['something that is not there', 'GET', '/v1/requests/7', 404],
    ['a body of no type', 'POST', '/v1/estimate', 415],
  ];
  for (const [name, method, path, status] of replies) {
    test(`are on the reply to ${name}`, async () => {
      const account = await service.account({ rpm: 9 });
      const reply = await service.call(method, path, { key: account.key });
      assert.equal(reply.status, status);
      assert.deepEqual(rate(reply), { limit: 9, remaining: 8, reset: 60 });
    });
  }

  test('are on the head of a stream', async () => {
    const account = await service.account({ rpm: 9 });
    const { body } = await account.post('/v1/queue/fake/image', { prompt: 'x' });
    await account.post(body.cancel_url.replace(/.*\/v1/, '/v1'));
    const reply = await account.get(`/v1/requests/${body.request_id}/status/stream`);
    assert.equal(rate(reply).remaining, 6);
  });

  test('are not on replies to calls without a key', async () => {
    const account = await service.account();
    for (const path of ['/v1/models', '/livez', '/v1/llms.txt']) {
      const { headers } = await account.get(path);
      assert.equal(headers.get('ratelimit'), null, path);
      assert.equal(headers.get('ratelimit-limit'), null, path);
    }
  });
});

describe('the count', () => {
  test('is exact when many calls come at once, over two processes', async () => {
    const account = await service.account({ rpm: 10 });
    const bases = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? service.base : second));
    const replies = await Promise.all(bases.map((base) => list(account, base)));
    const granted = replies.filter(({ status }) => status === 200);
    const left = granted.map((reply) => rate(reply).remaining!).sort((a, b) => b - a);
    assert.deepEqual(left, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    for (const reply of replies.filter((each) => !granted.includes(each))) {
      assertRefused(reply, 'rate_limited');
      assert.equal(rate(reply).remaining, 0);
    }
  });

  test('is per key: another key of the account is not affected', async () => {
    const [spent, free] = [await service.account({ rpm: 1 }), await service.account({ rpm: 1 })];
    await list(spent);
    assertRefused(await list(spent), 'rate_limited');
    assert.equal((await list(free)).status, 200);
  });

  test('counts every call with a key, and none without', async () => {
    const account = await service.account({ rpm: 100 });
    await account.post('/v1/estimate', {});
    await account.get('/v1/requests/7/status');
    await account.get('/v1/models');
    await service.call('GET', '/v1/requests', {
      headers: { authorization: `Key ${account.key}0` },
    });
    assert.equal(rate(await list(account)).remaining, 97);
  });

  test('does not let a refused call through to its work', async () => {
    const account = await service.account({ rpm: 1 });
    await list(account);
    const earlier = await service.transfers();
    const body = { prompt: 'x' };
    assertRefused(await account.post('/v1/queue/fake/image', body), 'rate_limited');
    assert.equal(await service.transfers(), earlier);
  });

  test("is the service's own where the key has none", async () => {
    const account = await service.account();
    const { base } = await service.another({ FAREBOX_RPM: '600' });
    assert.deepEqual(rate(await list(account, base)), { limit: 600, remaining: 599, reset: 60 });
  });
});
