import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { sql } from '../../src/lib/sql/sql.ts';
import { isLong } from '../kit/long.ts';
import { assertRefused } from '../kit/refusal.ts';
import type { Reply, TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';

/** Limits are exact for any number of simultaneous calls on several processes. */

const price = 10_000n;
const crowd = isLong ? 256 : 128;

let bases: string[];
after(async () => {
  const [row] = await service.db.run<{ least: bigint }>(sql`
    select min(available_after_usd_micro)::bigint as least from transfers`);
  assert.ok(row!.least >= 0n);
});
const { service } = withService();
before(async () => {
  bases = [service.base, (await service.another()).base];
});

/** Sends so many submits at once, to both processes in turn. */
function submits(
  account: TestAccount,
  options: { keys?: string[]; count?: number; path?: string; body?: object } = {},
): Promise<Reply[]> {
  const {
    keys = [account.key],
    count = crowd,
    path = '/v1/queue/fake/image',
    body = { prompt: 'a cat' },
  } = options;
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      service.call('POST', path, { base: bases[i % 2]!, key: keys[i % keys.length]!, body }),
    ),
  );
}

const accepted = (replies: Reply[]) => replies.filter(({ status }) => status === 202);
const refused = (replies: Reply[]) => replies.filter(({ status }) => status !== 202);
const inUsd = (micro: bigint) => Number(micro) / 1e6;

async function open(account: TestAccount): Promise<number> {
  const [row] = await service.db.run<{ n: bigint }>(sql`select count(*) as n from requests
    where account_id = ${account.account_id} and status in ('IN_QUEUE', 'IN_PROGRESS')`);
  return Number(row!.n);
}

describe('the balance', () => {
  const cases: [what: string, places: bigint, over: bigint][] = [
    ['for exactly so many', 40n, 0n],
    ['for so many and all but one micro of another', 40n, price - 1n],
    ['for none', 0n, price - 1n],
    ['for all', BigInt(crowd), 0n],
  ];
  for (const [what, places, over] of cases) {
    test(`${what}: so many are accepted, and the others get exact amounts`, async (t) => {
      const account = await service.account({
        usd: inUsd(places * price + over),
        open_jobs: 1_000,
      });
      const replies = await submits(account);
      assert.equal(accepted(replies).length, Number(places));
      for (const reply of refused(replies)) {
        const { details } = assertRefused(reply, 'insufficient_balance');
        assert.deepEqual(details, {
          required_usd_micro: String(price),
          available_usd_micro: String(over),
          reserved_usd_micro: String(places * price),
          top_up: [],
        });
      }
      assert.deepEqual(await service.balance(account), {
        available: over,
        reserved: places * price,
      });
      assert.equal(await open(account), Number(places), 'a refused submit leaves no request');
      t.diagnostic(
        `figure: ${accepted(replies).length} of ${crowd} at once accepted, money for ${places}`,
      );
    });
  }

  test('is one for all keys of the account', async () => {
    const account = await service.account({ usd: inUsd(30n * price), open_jobs: 1_000 });
    const keys = [
      account.key,
      (await account.another({ open_jobs: 1_000 })).key,
      (await account.another({ open_jobs: 1_000 })).key,
    ];
    const replies = await submits(account, { keys });
    assert.equal(accepted(replies).length, 30);
    for (const reply of refused(replies)) assertRefused(reply, 'insufficient_balance');
  });

  test('of one account does not affect another', async () => {
    const [poor, rich] = [
      await service.account({ usd: inUsd(5n * price), open_jobs: 1_000 }),
      await service.account({ usd: 100, open_jobs: 1_000 }),
    ];
    const [hers, his] = await Promise.all([
      submits(poor, { count: crowd / 2 }),
      submits(rich, { count: crowd / 2 }),
    ]);
    assert.deepEqual([accepted(hers).length, accepted(his).length], [5, crowd / 2]);
  });
});

describe("a key's monthly limit", () => {
  test('is kept to the micro, though the account has more', async () => {
    const account = await service.account({
      usd: 100,
      open_jobs: 1_000,
      monthly_limit_usd_micro: 25n * price + 9_999n,
    });
    const replies = await submits(account);
    assert.equal(accepted(replies).length, 25);
    for (const reply of refused(replies)) {
      const { resets_at, ...figures } = assertRefused(reply, 'key_limit_reached').details;
      assert.deepEqual(figures, {
        required_usd_micro: String(price),
        limit_usd_micro: String(25n * price + 9_999n),
        spent_usd_micro: String(25n * price),
      });
      assert.match(resets_at, /-01T00:00:00\.000Z$/);
    }
    assert.deepEqual(await service.balance(account), {
      available: 100_000_000n - 25n * price,
      reserved: 25n * price,
    });
  });

  test('stops only that key: another key of the account can still use the balance', async () => {
    const account = await service.account({
      usd: inUsd(60n * price),
      open_jobs: 1_000,
      monthly_limit_usd_micro: 20n * price,
    });
    const free = (await account.another({ open_jobs: 1_000 })).key;
    const limited = await submits(account, { count: 100 });
    assert.equal(accepted(limited).length, 20);
    const mixed = await submits(account, { keys: [account.key, account.key, free, free] });
    const [his, hers] = [
      [0, 1],
      [2, 3],
    ].map((places) => mixed.filter((_, i) => places.includes(i % 4)));
    assert.deepEqual([accepted(his!).length, accepted(hers!).length], [0, 40]);
    for (const reply of [...refused(limited), ...his!]) assertRefused(reply, 'key_limit_reached');
    for (const reply of refused(hers!)) assertRefused(reply, 'insufficient_balance');
  });

  test('counts chat calls and jobs together', async () => {
    const account = await service.account({
      usd: 100,
      open_jobs: 1_000,
      monthly_limit_usd_micro: 10n * price,
    });
    const messages = [{ role: 'user', content: 'hello' }];
    const [jobs, chats] = await Promise.all([
      submits(account, { count: 40 }),
      submits(account, {
        count: 40,
        path: '/v1/chat/completions',
        body: { model: 'fake/chat', messages, max_tokens: 5_000 },
      }),
    ]);
    for (const reply of [...refused(jobs), ...chats.filter(({ status }) => status !== 200)])
      assertRefused(reply, 'key_limit_reached');
    // A call reserves much and is charged little, and the released rest may be spent again.
    const spent = async () => {
      const [row] = await service.db.run<{ spent: bigint }>(sql`select pending_usd_micro +
        posted_usd_micro as spent from key_usage where key_id = ${account.key_id}`);
      return row!.spent;
    };
    const before = await spent();
    assert.ok(before > 0n && before <= 10n * price, String(before));
    const rest = await submits(account, { count: 40 });
    assert.equal(BigInt(accepted(rest).length), (10n * price - before) / price);
    assert.equal(await spent(), before + BigInt(accepted(rest).length) * price);
  });
});

describe('open jobs', () => {
  test('are limited by key, and a job that ends makes room for another', async () => {
    const account = await service.account({ usd: 100, open_jobs: 17 });
    const replies = await submits(account);
    assert.equal(accepted(replies).length, 17);
    for (const reply of refused(replies)) {
      assert.deepEqual(assertRefused(reply, 'rate_limited').details, { open_jobs_limit: 17 });
    }
    assert.deepEqual(await service.balance(account), {
      available: 100_000_000n - 17n * price,
      reserved: 17n * price,
    });
    const [first] = accepted(replies);
    assert.equal((await account.post(first!.body.cancel_url.replace(/.*\/v1/, '/v1'))).status, 200);
    assert.equal(accepted(await submits(account, { count: 20 })).length, 1);
  });

  test('of one key are not those of another', async () => {
    const account = await service.account({ usd: 100, open_jobs: 3 });
    const free = (await account.another({ open_jobs: 1_000 })).key;
    const replies = await submits(account, { keys: [account.key, free], count: 40 });
    assert.equal(accepted(replies.filter((_, i) => i % 2 === 0)).length, 3);
    assert.equal(accepted(replies.filter((_, i) => i % 2 === 1)).length, 20);
  });

  test('have the default of the service if the key has no limit', async () => {
    const account = await service.account({ usd: 100 });
    const replies = await submits(account, { count: 80 });
    assert.equal(accepted(replies).length, 50);
  });
});

describe('calls a minute', () => {
  test('are exact over two processes, and refused calls do nothing', async () => {
    const account = await service.account({ usd: 100, open_jobs: 1_000, rpm: 100 });
    const replies = await submits(account);
    assert.equal(accepted(replies).length, 100);
    for (const reply of refused(replies)) {
      const { details } = assertRefused(reply, 'rate_limited');
      assert.equal(details.limit, 100);
      assert.equal(reply.headers.get('ratelimit-remaining'), '0');
    }
    const left = accepted(replies).map(({ headers }) => Number(headers.get('ratelimit-remaining')));
    assert.deepEqual(
      left.toSorted((a, b) => a - b),
      Array.from({ length: 100 }, (_, i) => i),
    );
    assert.equal(await open(account), 100);
  });
});
