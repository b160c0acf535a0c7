import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { hashKey } from '../../src/core/account/key.ts';
import { setStatus } from '../../src/db/accounts/accounts.ts';
import * as keys from '../../src/db/accounts/keys.ts';
import * as callers from '../../src/db/accounts/callers.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { endOverlap, rotateKey } from '../../src/operations/accounts/key-rotation.ts';
import { createKey } from '../kit/keys.ts';
import { customer, submit } from '../kit/by-hand.ts';
import { withDatabase } from '../kit/with-database.ts';

const { db } = withDatabase();

interface Key {
  account_id: string;
  key_id: string;
  hash: Buffer;
}

async function newKey(
  limits: { rpm?: number; open_jobs?: number; monthly_limit_usd_micro?: bigint } = {},
): Promise<Key> {
  const { account_id } = await customer(db);
  const { key, key_id } = await createKey(db, { account_id, name: 'test', ...limits });
  return { account_id, key_id, hash: hashKey(key) };
}

const call = async (hashes: Buffer[], rpm = 600) => {
  const found = await callers.authenticateMany(db, hashes, { key: rpm, account: 5 * rpm });
  assert.ok(found.every((one) => one === null || !('lapsed' in one)));
  return found as (callers.Caller | null)[];
};
const times = <T>(count: number, item: T) => Array.from({ length: count }, () => item);
const granted = (callers: (callers.Caller | null)[]) =>
  callers.filter((caller) => caller?.rate.granted).length;

/** Ends the running minute of a key. */
const passMinute = ({ key_id }: Key) =>
  db.run(sql`update key_windows set started_at = now() - interval '60 s' where key_id = ${key_id}`);

describe('the owner of a key', () => {
  test('is returned for each key of a batch, in order', async () => {
    const [a, b] = [await newKey({ open_jobs: 3 }), await newKey({ monthly_limit_usd_micro: 5n })];
    const callers = await call([b.hash, randomBytes(32), a.hash, b.hash]);
    assert.deepEqual(
      callers.map((caller) => caller?.key_id ?? null),
      [b.key_id, null, a.key_id, b.key_id],
    );
    const [second, , first] = callers;
    assert.deepEqual(
      [first!.account_id, first!.active, first!.open_jobs, first!.monthly_limit_usd_micro],
      [a.account_id, true, 3, null],
    );
    assert.deepEqual(
      [second!.account_id, second!.open_jobs, second!.monthly_limit_usd_micro],
      [b.account_id, null, 5n],
    );
  });

  test('an empty batch has an empty answer', async () => assert.deepEqual(await call([]), []));

  test('a revoked key has no owner from the next call on, and is not counted', async () => {
    const key = await newKey();
    assert.ok((await call([key.hash]))[0]);
    assert.equal(await keys.revoke(db, key.key_id), true);
    assert.deepEqual(await call([key.hash, key.hash]), [null, null]);
    assert.equal(await keys.revoke(db, key.key_id), false, 'it is not there twice');
    assert.equal(await keys.findAccountOfSecret(db, key.hash), null);
    const [row] = await db.run<{ calls: number }>(sql`select calls from key_windows
      where key_id = ${key.key_id}`);
    assert.equal(row!.calls, 1);
  });

  test('a suspended account shows at once, and a resumed one too', async () => {
    const key = await newKey();
    for (const [status, active] of [
      ['suspended', false],
      ['active', true],
    ] as const) {
      await setStatus(db, key.account_id, status);
      assert.equal((await call([key.hash]))[0]!.active, active);
    }
  });

  test('open jobs are those of the key', async () => {
    const key = await newKey();
    await submit(db, key);
    await submit(db, key, { call_seconds: 60 });
    assert.equal((await call([key.hash]))[0]!.open_requests, 1, 'a chat call is no job');
  });
});

const change = (key: Key, set: string) =>
  db.run(rawSql(`update keys set ${set} where id = $1`, [key.key_id]));
/** The verdict on one hash. */
const judged = async (hash: Buffer) =>
  (await callers.authenticateMany(db, [hash], { key: 600, account: 3000 }))[0] ?? null;
const lapsedOf = async (hash: Buffer) => {
  const found = await judged(hash);
  return found && 'lapsed' in found ? found.lapsed : null;
};
const callsOf = async ({ key_id }: Key) => {
  const [row] = await db.run<{ calls: number }>(sql`select calls from key_windows
    where key_id = ${key_id}`);
  return row?.calls ?? 0;
};

describe('the end of a key', () => {
  test('applies from the next call on, which is not counted', async () => {
    const key = await newKey();
    await change(key, "expires_at = now() + interval '1 hour'");
    assert.ok((await call([key.hash]))[0]);
    await change(key, 'expires_at = now()');
    const [one, two] = await callers.authenticateMany(db, [key.hash, key.hash], {
      key: 600,
      account: 3000,
    });
    assert.ok(one && 'lapsed' in one && two && 'lapsed' in two);
    assert.equal(one.lapsed, 'expired');
    assert.ok(one.at.getTime() <= Date.now());
    assert.equal(await callsOf(key), 1);
    assert.equal(await keys.findAccountOfSecret(db, key.hash), null);
  });

  test('that is moved to the future makes the key valid again', async () => {
    const key = await newKey();
    await change(key, "expires_at = now() - interval '1 day'");
    assert.equal(await lapsedOf(key.hash), 'expired');
    await change(key, "expires_at = now() + interval '1 day'");
    assert.ok((await call([key.hash]))[0]!.rate.granted);
    await change(key, 'expires_at = null');
    assert.ok((await call([key.hash]))[0]!.rate.granted);
  });

  test('is not reported for a key that is also revoked', async () => {
    const key = await newKey();
    await change(key, "expires_at = now() - interval '1 day', revoked_at = now()");
    assert.equal(await judged(key.hash), null);
  });
});

describe('a rotation', () => {
  const rotated = async (key: Key, overlap_hours: number) => {
    const { last4 } = (await keys.findAny(db, key.key_id))!;
    const next = await rotateKey(db, { key_id: key.key_id, last4, overlap_hours });
    return { hash: hashKey(next.key), previous_until: next.previous_until };
  };

  test('gives a key two secrets with one id and one count of calls, in one batch too', async () => {
    const key = await newKey({ rpm: 5 });
    const { hash } = await rotated(key, 24);
    const callers = await call([key.hash, hash, key.hash, hash]);
    assert.deepEqual(
      callers.map((caller) => caller!.key_id),
      times(4, key.key_id),
    );
    assert.deepEqual(
      callers.map((caller) => caller!.rate.remaining).toSorted(),
      [1, 2, 3, 4],
      'each call was counted once, whichever text it came with',
    );
    assert.equal(granted(await call([hash, key.hash, key.hash])), 1);
    assert.equal(await callsOf(key), 5);
  });

  test('says whether the earlier secret is still in use', async () => {
    const key = await newKey();
    await call([key.hash]);
    const { hash } = await rotated(key, 24);
    const used = async () => {
      const row = (await keys.findAny(db, key.key_id))!;
      return [row.last_used_at !== null, row.previous_used_at !== null];
    };
    await call([hash]);
    assert.deepEqual(await used(), [true, false]);
    await call([key.hash]);
    assert.deepEqual(await used(), [true, true]);
  });

  test('ends the earlier secret with the overlap; the newer one stays valid', async () => {
    const key = await newKey();
    const { hash, previous_until } = await rotated(key, 168);
    const hours = (previous_until!.getTime() - Date.now()) / 3_600_000;
    assert.ok(hours > 167.9 && hours <= 168);
    await change(key, 'previous_until = now()');
    assert.equal(await lapsedOf(key.hash), 'replaced');
    assert.ok((await call([hash]))[0]);
    assert.equal(await callsOf(key), 1);
  });

  test('without an overlap, or with one that is cut short, ends the earlier secret at once', async () => {
    const key = await newKey();
    const { hash, previous_until } = await rotated(key, 0);
    assert.equal(previous_until, null);
    assert.equal(await judged(key.hash), null);
    const next = await rotated(key, 1);
    assert.ok((await call([hash]))[0]);
    await endOverlap(db, key.key_id);
    assert.equal(await judged(hash), null);
    assert.ok((await call([next.hash]))[0]);
    await assert.rejects(endOverlap(db, key.key_id), /no earlier secret/);
  });

  test('during an overlap keeps the two newest secrets and no older one', async () => {
    const key = await newKey();
    const second = await rotated(key, 24);
    const third = await rotated(key, 24);
    assert.equal(await judged(key.hash), null);
    assert.ok((await call([second.hash]))[0]);
    assert.ok((await call([third.hash]))[0]);
  });

  test('ends for both secrets when the key is revoked or expires', async () => {
    const key = await newKey();
    const { hash } = await rotated(key, 24);
    await change(key, 'expires_at = now()');
    assert.deepEqual([await lapsedOf(key.hash), await lapsedOf(hash)], times(2, 'expired'));
    await change(key, 'expires_at = null');
    await keys.revoke(db, key.key_id);
    assert.deepEqual(await call([key.hash, hash]), [null, null]);
  });

  test('of one secret happens once, even if many calls ask for it at the same time', async () => {
    const key = await newKey();
    const { last4 } = (await keys.findAny(db, key.key_id))!;
    const wanted = { key_id: key.key_id, last4, overlap_hours: 24 };
    const all = await Promise.allSettled(times(6, wanted).map((one) => rotateKey(db, one)));
    const made = all.filter((one) => one.status === 'fulfilled');
    assert.equal(made.length, 1);
    for (const one of all) {
      if (one.status === 'rejected') assert.match(String(one.reason), /rotated in the meantime/);
    }
    const callers = await call([key.hash, hashKey(made[0]!.value.key)]);
    assert.ok(callers[0] && callers[1], 'the text that was in use before is not lost');
  });
});

describe('calls a minute', () => {
  test('in one batch pass up to the quota, the first ones', async () => {
    const key = await newKey({ rpm: 5 });
    const callers = await call(times(8, key.hash));
    assert.deepEqual(
      callers.map((caller) => caller!.rate.granted),
      [...times(5, true), ...times(3, false)],
    );
    assert.deepEqual(
      callers.map((caller) => caller!.rate.remaining),
      [4, 3, 2, 1, 0, 0, 0, 0],
    );
    for (const caller of callers) assert.equal(caller!.rate.quota, 5);
  });

  test('are counted over batches', async () => {
    const key = await newKey({ rpm: 5 });
    assert.equal(granted(await call(times(3, key.hash))), 3);
    assert.equal(granted(await call(times(3, key.hash))), 2);
    assert.equal(granted(await call(times(3, key.hash))), 0);
  });

  test('are exact when many processes count at once', async () => {
    const key = await newKey({ rpm: 100 });
    const batches = await Promise.all(
      Array.from({ length: 40 }, (_, i) => call(times((i % 7) + 1, key.hash))),
    );
    const all = batches.flat();
    assert.equal(all.length, 155);
    assert.equal(granted(all), 100);
    const left = all
      .filter((caller) => caller!.rate.granted)
      .map((caller) => caller!.rate.remaining);
    assert.deepEqual(
      left.toSorted((a, b) => a - b),
      Array.from({ length: 100 }, (_, i) => i),
      'each place was given once',
    );
  });

  test('are counted from 0 again a minute after the first, and not before', async () => {
    const key = await newKey({ rpm: 2 });
    assert.equal(granted(await call(times(3, key.hash))), 2);
    await db.run(sql`update key_windows set started_at = now() - interval '58 s'
      where key_id = ${key.key_id}`);
    const [refused] = await call([key.hash]);
    assert.equal(refused!.rate.granted, false);
    assert.ok(
      refused!.rate.reset_seconds >= 1 && refused!.rate.reset_seconds <= 2,
      String(refused!.rate.reset_seconds),
    );
    await passMinute(key);
    const callers = await call(times(3, key.hash));
    assert.equal(granted(callers), 2);
    assert.equal(callers[0]!.rate.reset_seconds, 60);
  });

  test('have a default if the key has no limit of its own', async () => {
    const key = await newKey();
    const callers = await call(times(4, key.hash), 3);
    assert.equal(granted(callers), 3);
    assert.equal(callers[0]!.rate.quota, 3);
  });

  test('of one key take nothing from another', async () => {
    const [a, b] = [await newKey({ rpm: 2 }), await newKey({ rpm: 3 })];
    const callers = await call([a.hash, b.hash, a.hash, b.hash, a.hash, b.hash, b.hash]);
    assert.deepEqual(
      callers.map((caller) => caller!.rate.granted),
      [true, true, true, true, false, true, false],
    );
  });

  const changes: [what: string, from: number, spent: number, to: number, expected: number][] = [
    ['a raised quota lets the difference through', 3, 5, 6, 3],
    ['a lowered quota lets nothing more through', 5, 5, 2, 0],
    ['a lowered quota that is not used up lets the rest through', 10, 2, 4, 2],
  ];
  for (const [what, from, spent, to, expected] of changes) {
    test(`${what}, in the same minute`, async () => {
      const key = await newKey({ rpm: from });
      await call(times(spent, key.hash));
      await keys.change(db, key.key_id, { rpm: to }, 'operator');
      const callers = await call(times(20, key.hash));
      assert.equal(granted(callers), expected);
      assert.ok(callers.every((caller) => caller!.rate.remaining >= 0));
    });
  }

  test('of the same keys in another order never make two processes wait for each other', async () => {
    const all = (await Promise.all(times(12, null).map(() => newKey()))).map(({ hash }) => hash);
    const batches = Array.from({ length: 60 }, (_, i) =>
      call(i % 2 === 0 ? all : all.toReversed()),
    );
    assert.equal((await Promise.all(batches)).flat().filter((caller) => caller === null).length, 0);
    const rows = await db.run<{ calls: number }>(sql`select w.calls from key_windows w join keys k
      on k.id = w.key_id where k.hash = any(${all}::bytea[])`);
    assert.deepEqual(
      rows.map(({ calls }) => calls),
      times(12, 60),
    );
  });
});

test("a list shows one account's keys, newest first, and what this month cost", async () => {
  const who = await customer(db);
  const later = await createKey(db, { account_id: who.account_id, name: 'later' });
  await submit(db, who, { amount: 40n });
  const rows = await keys.list(db, { account_id: who.account_id, limit: 100 });
  assert.deepEqual(
    rows.map(({ id, name, spent_usd_micro, open_requests }) => [
      id,
      name,
      spent_usd_micro,
      open_requests,
    ]),
    [
      [later.key_id, 'later', 0n, 0],
      [who.key_id, 'by hand', 40n, 1],
    ],
  );
  assert.ok(
    rows.every(
      ({ prefix, last4 }) => later.key.startsWith(prefix) === (last4 === later.key.slice(-4)),
    ),
  );
  assert.ok((await keys.list(db, { account_id: null, limit: 100 })).length > rows.length);
  assert.doesNotMatch(
    JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    new RegExp(later.key.slice(12, 30)),
  );
});
