import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { audit } from '../../src/ledger/audit.ts';
import { KeyUsage } from '../../src/ledger/usage.ts';
import * as keys from '../../src/db/accounts/keys.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import {
  balanceOf,
  cancelled,
  completed,
  customer,
  end,
  failed,
  start,
  submit,
  trySubmit,
  usageOf,
  type Customer,
} from '../kit/by-hand.ts';
import { withDatabase } from '../kit/with-database.ts';

/** The end of a month, played by moving reservations into the past. */

const { db } = withDatabase();
const clean = async () => assert.deepEqual((await audit(db)).violations, []);

/** Moves everything that this account did so far into last month. */
async function turnMonth({ account_id }: Customer): Promise<void> {
  const past = `date_trunc('month', now() at time zone 'utc') at time zone 'utc' - interval '1 minute'`;
  await db.tx(async (tx) => {
    tx.send(rawSql('alter table transfers disable trigger transfers_append_only'));
    tx.send(
      rawSql(
        `update transfers set created_at = ${past} where account_id = $1 and reference is null`,
        [account_id],
      ),
    );
    tx.send(rawSql('alter table transfers enable trigger transfers_append_only'));
  });
  await db.run(
    rawSql(`update requests set created_at = ${past} where account_id = $1`, [account_id]),
  );
  await db.run(
    rawSql(
      `update key_usage set month = date_trunc('month', (${past}) at time zone 'utc')::date where account_id = $1`,
      [account_id],
    ),
  );
}

async function thisMonth(): Promise<string> {
  const [row] = await db.run<{ month: string }>(
    rawSql(`select to_char(now() at time zone 'utc', 'YYYY-MM') as month`),
  );
  return row!.month;
}

const inLane = (who: Customer, name: string) => `${who.account_id} ${name}`;

describe('a reservation of last month', () => {
  const ends: [what: string, finish: (who: Customer) => Promise<boolean>, left: bigint][] = [
    [
      'that is charged',
      async (who) => end(db, completed(who, await start(db, inLane(who, 'old')), 30n)),
      970n,
    ],
    [
      'that fails',
      async (who) => end(db, failed(who, await start(db, inLane(who, 'old')))),
      1_000n,
    ],
    ['that is cancelled', async (who) => end(db, cancelled(who, await oldest(who))), 1_000n],
  ];
  for (const [what, finish, left] of ends) {
    test(`${what} does not count in this one, and its job is closed`, async () => {
      const who = await customer(db, 1_000n);
      await submit(db, who, { amount: 100n, upstream: inLane(who, 'old') });
      await turnMonth(who);
      await clean();
      assert.equal(await finish(who), true);
      assert.deepEqual(await usageOf(db, who), {
        month: await thisMonth(),
        pending: 0n,
        posted: 0n,
        open: 0,
      });
      assert.deepEqual(await balanceOf(db, who), { available: left, reserved: 0n });
      await clean();
    });

    test(`${what} after the key was used again does not change this month's sum`, async () => {
      const who = await customer(db, 1_000n);
      await submit(db, who, { amount: 100n, upstream: inLane(who, 'old') });
      await turnMonth(who);
      await submit(db, who, { amount: 7n, upstream: inLane(who, 'new') });
      assert.deepEqual(await usageOf(db, who), {
        month: await thisMonth(),
        pending: 7n,
        posted: 0n,
        open: 2,
      });
      await finish(who);
      assert.deepEqual(await usageOf(db, who), {
        month: await thisMonth(),
        pending: 7n,
        posted: 0n,
        open: 1,
      });
      await clean();
    });
  }

  async function oldest({ account_id }: Customer): Promise<string> {
    const [row] = await db.run<{ id: string }>(
      rawSql('select id from requests where account_id = $1 order by id limit 1', [account_id]),
    );
    return row!.id;
  }
});

describe('a monthly limit', () => {
  test('that was used up begins again with the month', async () => {
    const who = await customer(db, 1_000n);
    await submit(db, who, { amount: 100n, limit: 100n });
    assert.equal(
      ((await trySubmit(db, who, { amount: 1n, limit: 100n })) as { code?: string }).code,
      'key_limit_reached',
    );
    await turnMonth(who);
    assert.equal(await spent(who), 0n);
    await submit(db, who, { amount: 100n, limit: 100n });
    assert.equal(await spent(who), 100n);
    const refused = (await trySubmit(db, who, { amount: 1n, limit: 100n })) as unknown as {
      code: string;
      details: Record<string, string>;
    };
    assert.equal(refused.code, 'key_limit_reached');
    const { resets_at, ...figures } = refused.details;
    assert.deepEqual(figures, {
      required_usd_micro: '1',
      limit_usd_micro: '100',
      spent_usd_micro: '100',
    });
    assert.match(resets_at!, /^\d{4}-\d{2}-01T00:00:00\.000Z$/);
    assert.ok(
      Date.parse(resets_at!) > Date.now() && Date.parse(resets_at!) - Date.now() <= 31 * 86_400_000,
    );
    await clean();
  });

  async function spent(who: Customer): Promise<bigint> {
    const [row] = await keys.list(db, { account_id: who.account_id, limit: 1 });
    return row!.spent_usd_micro;
  }
});

test('a submit that began before midnight and ends after it counts in its own month, and not in the new one', async () => {
  const who = await customer(db, 1_000n);
  const turnRow = () =>
    db.run(
      rawSql(`update key_usage set month = (month + interval '1 month')::date where key_id = $1`, [
        who.key_id,
      ]),
    );
  await db.run(
    rawSql(
      `update key_usage set month = date_trunc('month', now() at time zone 'utc') where key_id = $1`,
      [who.key_id],
    ),
  );
  const { month } = await usageOf(db, who);
  // Another transaction has already moved the row to a month that is still ahead for this one.
  await turnRow();
  await submit(db, who, { amount: 100n, upstream: inLane(who, 'early') });
  const { month: ahead, ...counted } = await usageOf(db, who);
  assert.notEqual(ahead, month);
  assert.deepEqual(counted, { pending: 0n, posted: 0n, open: 1 });
  // Now it is past midnight for all transactions.
  await turnMonth(who);
  await turnRow();
  await clean();
  await end(db, completed(who, await start(db, inLane(who, 'early')), 60n));
  assert.deepEqual(await usageOf(db, who), { month, pending: 0n, posted: 0n, open: 0 });
  await clean();
});

describe('the day on which a limit begins again', () => {
  const months: [month: string, resets_at: string][] = [
    ['2026-01-01', '2026-02-01T00:00:00.000Z'],
    ['2026-12-01', '2027-01-01T00:00:00.000Z'],
    ['2028-02-01', '2028-03-01T00:00:00.000Z'],
  ];
  for (const [month, resets_at] of months) {
    test(`of ${month} is ${resets_at}`, () => {
      const row = {
        key_id: 'k',
        month,
        month_now: month,
        pending_usd_micro: 3n,
        posted_usd_micro: 4n,
        open_requests: 2,
      };
      assert.deepEqual(new KeyUsage([row]).spending('k'), {
        spent_usd_micro: 7n,
        open_requests: 2,
        resets_at,
      });
    });
  }

  test('is asked of no key that is not open', () => {
    assert.throws(() => new KeyUsage([]).spending('k'), /no usage is open/);
  });
});
