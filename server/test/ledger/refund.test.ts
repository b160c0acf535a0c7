import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { adjust, deposit, refund } from '../kit/by-command-line.ts';
import { readRevenue, listTopAccounts } from '../../src/db/accounts/revenue.ts';
import { withMargins } from '../../src/db/requests/margins.ts';
import { movementsOf, statementLines } from '../../src/ledger/statement.ts';
import { movementTotals } from '../../src/ledger/transfer-sums.ts';
import { newId } from '../../src/lib/id.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { rollUpDays } from '../../src/operations/accounts/roll-up.ts';
import { Refusal } from '../../src/operations/refusal.ts';
import {
  balanceOf,
  cancelled,
  completed,
  customer,
  end,
  start,
  submit,
  usageOf,
  type Customer,
} from '../kit/by-hand.ts';
import { withBooks } from '../kit/with-database.ts';

const { db } = withBooks();

const reason = 'the picture was blurred';

/** A customer with 1000, and a request with a quote of 100 that was charged `charge`. */
async function charged(charge = 100n): Promise<{ who: Customer; request_id: string }> {
  const who = await customer(db, 1_000n);
  const upstream = randomUUID();
  const request_id = await submit(db, who, { amount: 100n, upstream });
  await end(db, completed(who, await start(db, upstream), charge));
  return { who, request_id };
}

const giveBack = (request_id: string, amount: bigint | null, reference: string = randomUUID()) =>
  refund(db, { request_id, amount, reference, reason });

async function refusalOf(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error.why.reason;
  }
  throw new assert.AssertionError({ message: 'it was not refused' });
}

describe('a refund', () => {
  test('of a part, and then of the rest, gives back the charge and no more', async () => {
    const { who, request_id } = await charged(70n);
    const month = await usageOf(db, who);
    const part = (await giveBack(request_id, 30n))!;
    assert.deepEqual([part.available_usd_micro, part.refunded_usd_micro], [960n, 30n]);
    assert.equal(await refusalOf(giveBack(request_id, 41n)), 'refund_beyond_charge');
    const rest = (await giveBack(request_id, null))!;
    assert.deepEqual([rest.available_usd_micro, rest.refunded_usd_micro], [1_000n, 70n]);
    for (const amount of [null, 1n])
      assert.equal(await refusalOf(giveBack(request_id, amount)), 'refunded_already');
    assert.deepEqual(await balanceOf(db, who), { available: 1_000n, reserved: 0n });
    assert.deepEqual(await usageOf(db, who), month, "the key's month stays");
  });

  test('is booked once for its reference, of whole and part', async () => {
    const { who, request_id } = await charged();
    const reference = randomUUID();
    const first = (await giveBack(request_id, 60n, reference))!;
    for (const amount of [60n, null])
      assert.deepEqual(await giveBack(request_id, amount, reference), { ...first, replayed: true });
    assert.equal(await refusalOf(giveBack(request_id, 40n, reference)), 'reference_used');
    const other = await charged();
    assert.equal(await refusalOf(giveBack(other.request_id, 60n, reference)), 'reference_used');
    const { account_id } = who;
    const same = { account_id, amount: 60n, reference };
    assert.equal(await refusalOf(deposit(db, { ...same, source: 'refund' })), 'reference_used');
    assert.equal(await refusalOf(adjust(db, { ...same, reason })), 'reference_used');
    assert.deepEqual(await balanceOf(db, who), { available: 960n, reserved: 0n });
  });

  test('is refused if nothing was charged, and takes nothing', async () => {
    const who = await customer(db, 1_000n);
    const open = await submit(db, who, { amount: 100n });
    assert.equal(await refusalOf(giveBack(open, 10n)), 'not_charged');
    await end(db, cancelled(who, open));
    assert.equal(await refusalOf(giveBack(open, null)), 'not_charged');
    assert.equal(await refusalOf(giveBack((await charged(0n)).request_id, null)), 'not_charged');
    for (const amount of [0n, -1n])
      assert.equal(await refusalOf(giveBack(open, amount)), 'amount_not_positive');
    assert.equal(await giveBack(newId(), 10n), null);
    assert.deepEqual(await balanceOf(db, who), { available: 1_000n, reserved: 0n });
  });

  test('ten at once give back no more than the charge', async () => {
    const { who, request_id } = await charged();
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => giveBack(request_id, 30n)),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 3);
    for (const each of results)
      if (each.status === 'rejected')
        assert.equal((each.reason as Refusal).why?.reason, 'refund_beyond_charge');
    assert.deepEqual(await balanceOf(db, who), { available: 990n, reserved: 0n });
  });

  test('of the whole, sent ten times at once, is booked once', async () => {
    const { who, request_id } = await charged();
    const reference = randomUUID();
    const all = await Promise.all(
      Array.from({ length: 10 }, () => giveBack(request_id, null, reference)),
    );
    assert.equal(all.filter((each) => !each!.replayed).length, 1);
    assert.equal(new Set(all.map((each) => each!.transfer_id)).size, 1);
    assert.deepEqual(await balanceOf(db, who), { available: 1_000n, reserved: 0n });
  });

  test('is in the statement and on its request, and lowers revenue and margin', async () => {
    const { who, request_id } = await charged();
    const earned = async () => {
      await rollUpDays(db);
      const rows = await readRevenue(db, 7);
      return rows.reduce((sum, row) => sum + row.charged_usd_micro, 0n);
    };
    const before = await earned();
    await giveBack(request_id, 40n, `ticket ${request_id}`);
    assert.equal((await earned()) - before, -40n);
    const spenders = await listTopAccounts(db, 7, 100);
    const spender = spenders.find((row) => row.account_id === who.account_id);
    assert.deepEqual([spender!.charged_usd_micro, spender!.completed], [60n, 1n]);
    const [margin] = await withMargins(db, [request_id]);
    assert.deepEqual([margin!.charged_usd_micro, margin!.refunded_usd_micro], [100n, 40n]);
    const moved = await movementsOf(db, request_id);
    assert.deepEqual(
      moved.map((row) => [row.kind, row.source, row.direction, row.amount_usd_micro]),
      [
        ['reserve', null, 'out', 100n],
        ['charge', null, 'out', 100n],
        ['deposit', 'refund', 'in', 40n],
      ],
    );
    const { account_id } = who;
    const whole = { account_id, from_seq: 1n, below_seq: 100n, from: null, to: null };
    const [line] = await statementLines(db, { ...whole, limit: 1 });
    assert.deepEqual(
      [line!.source, line!.request_id, line!.effect_usd_micro, line!.balance_usd_micro],
      ['refund', request_id, 40n, 940n],
    );
    assert.deepEqual([line!.reason, line!.reference], [reason, `ticket ${request_id}`]);
    assert.deepEqual((await movementTotals(db, { ...whole, kinds: [] })).by_source, [
      { source: 'paid', amount_usd_micro: 1_000n },
      { source: 'refund', amount_usd_micro: 40n },
    ]);
  });

  test('of a past day is summed up alike in one stretch and day by day', async () => {
    const { request_id } = await charged();
    await db.run(sql`update request_results set created_at = created_at - interval '20 days'
      where request_id = ${request_id}`);
    const sumsBy = async (ms?: number) => {
      await db.run(rawSql('truncate revenue_days, revenue, spending'));
      const days = await rollUpDays(db, ms);
      return [days, await readRevenue(db, 90)];
    };
    const [days, sums] = await sumsBy();
    assert.ok(Number(days) > 90, String(days));
    // The server cancels every statement that takes longer than a millisecond.
    assert.deepEqual(await sumsBy(1), [days, sums]);
    assert.equal(await rollUpDays(db), 0);
  });

  test('of a past day stays on its day', async () => {
    const { request_id } = await charged();
    const ago = `interval '3 days'`;
    // Moves rows to the past, and not the clock.
    await db.run(
      rawSql(`update request_results set created_at = created_at - ${ago} where request_id = $1`, [
        request_id,
      ]),
    );
    await db.run(rawSql('truncate revenue_days, revenue, spending'));
    await rollUpDays(db);
    const daysOf = async () => {
      const days = new Map<string, bigint>();
      for (const { day, charged_usd_micro: sum } of await readRevenue(db, 7))
        days.set(day, (days.get(day) ?? 0n) + sum);
      return [...days].sort(([a], [b]) => a.localeCompare(b)).map(([, sum]) => sum);
    };
    const before = await daysOf();
    await giveBack(request_id, 100n);
    const after = await daysOf();
    assert.deepEqual(after.slice(0, -1), before.slice(0, -1));
    assert.equal(after.at(-1)! - before.at(-1)!, -100n);
  });
});
