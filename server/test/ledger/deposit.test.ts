import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { adjust, deposit } from '../kit/by-command-line.ts';
import { openBooks, writeBooks } from '../../src/ledger/ledger.ts';
import { statement } from '../../src/ledger/statement.ts';
import { newId } from '../../src/lib/id.ts';
import { commandLine, logBooking } from '../../src/operations/operator-action.ts';
import { Refusal } from '../../src/operations/refusal.ts';
import type { BookingResult } from '../../src/operations/accounts/booking.ts';
import { balanceOf, cancelled, customer, end, submit, type Customer } from '../kit/by-hand.ts';
import { withBooks } from '../kit/with-database.ts';

const { db } = withBooks();

const times = <T>(count: number, work: (i: number) => Promise<T>) =>
  Promise.allSettled(Array.from({ length: count }, (_, i) => work(i)));
const values = <T>(results: PromiseSettledResult<T>[]) =>
  results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
const reasons = (results: PromiseSettledResult<unknown>[]) =>
  results.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));

async function kinds(who: Customer): Promise<string[]> {
  const rows = await statement(db, who.account_id, { limit: 100 });
  return rows.map(({ kind, amount_usd_micro }) => `${kind} ${amount_usd_micro}`);
}

describe('a deposit that is sent again', () => {
  test('ten at once are booked once, and all ten get the same transfer', async () => {
    const who = await customer(db, 0n);
    const wanted = { account_id: who.account_id, amount: 500n, reference: randomUUID() };
    const booked = values(await times(10, () => deposit(db, wanted)));
    assert.equal(booked.length, 10);
    assert.equal(booked.filter(({ replayed }) => !replayed).length, 1);
    assert.equal(new Set(booked.map(({ transfer_id }) => transfer_id)).size, 1);
    assert.deepEqual(await kinds(who), ['deposit 500']);
    assert.deepEqual(await balanceOf(db, who), { available: 500n, reserved: 0n });
  });

  test('ten different ones at once are booked ten times', async () => {
    const who = await customer(db, 0n);
    const booked = values(
      await times(10, (i) =>
        deposit(db, { account_id: who.account_id, amount: 500n, reference: `${who.key_id} ${i}` }),
      ),
    );
    assert.deepEqual(
      booked.map(({ available_usd_micro }) => available_usd_micro).toSorted(byAmount),
      Array.from({ length: 10 }, (_, i) => 500n * BigInt(i + 1)),
    );
    assert.equal((await kinds(who)).length, 10);
  });

  test('for ten accounts at once under one reference, one gets it and nine are refused', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => customer(db, 0n)));
    const reference = randomUUID();
    const results = await times(10, (i) =>
      deposit(db, { account_id: all[i]!.account_id, amount: 500n, reference }),
    );
    assert.equal(values<BookingResult>(results).length, 1);
    for (const error of reasons(results)) {
      assert.ok(error instanceof Refusal, String(error));
      assert.match(error.message, /was already used for another booking/);
    }
    const balances = await Promise.all(all.map((who) => balanceOf(db, who)));
    assert.equal(
      balances.reduce((sum, { available }) => sum + available, 0n),
      500n,
    );
  });

  test('returns the current balance, not the one of the first booking', async () => {
    const who = await customer(db, 0n);
    const wanted = { account_id: who.account_id, amount: 500n, reference: randomUUID() };
    const { transfer_id } = await deposit(db, wanted);
    await submit(db, who, { amount: 200n });
    assert.deepEqual(await deposit(db, wanted), {
      transfer_id,
      replayed: true,
      available_usd_micro: 300n,
      reserved_usd_micro: 200n,
      debt_usd_micro: 0n,
    });
  });
});

describe('a reference that looks the same is the same', () => {
  const id = randomUUID();
  const alike = [`Réc ${id}`, `Re\u0301c ${id}`, ` Réc\u00a0\u2003${id}\n`, `Réc\ufe0e ${id}`];

  test('and its deposit is booked once', async () => {
    const who = await customer(db, 0n);
    for (const reference of alike) {
      const booked = await deposit(db, { account_id: who.account_id, amount: 500n, reference });
      assert.equal(booked.replayed, reference !== alike[0], reference);
    }
    assert.deepEqual(await kinds(who), ['deposit 500']);
  });

  test('also if an earlier version has stored it as it came', async () => {
    const who = await customer(db, 0n);
    const reference = `INV\u00a0${id}`;
    await db.tx(async (tx) => {
      const books = await openBooks(tx, [who.account_id]);
      const facts = {
        account_id: who.account_id,
        amount: 500n,
        reference,
        source: 'paid',
      } as const;
      const transfer_id = newId();
      books.deposit(transfer_id, who.account_id, 500n, reference, 'paid');
      const none = { reason: null, refunded_id: null, expires_at: null };
      logBooking(tx, commandLine, { ...facts, ...none, transfer_id });
      writeBooks(tx, books);
    });
    const wanted = { account_id: who.account_id, amount: 500n, reference: ` ${reference}` };
    assert.equal((await deposit(db, wanted)).replayed, true);
    assert.deepEqual(await kinds(who), ['deposit 500']);
  });

  test('and one with a sign that is not seen is refused', async () => {
    const who = await customer(db, 0n);
    for (const sign of ['\u3164', '\u034f', '\u115f', '\u200b', '\u2800'])
      await assert.rejects(
        async () =>
          deposit(db, { account_id: who.account_id, amount: 1n, reference: `INV${sign}${id}` }),
        /without invisible characters/,
      );
    assert.deepEqual(await kinds(who), []);
  });
});

describe('a deposit is refused', () => {
  const cases: [
    what: string,
    wanted: { amount?: bigint; reference?: string; account_id?: string },
    says: RegExp,
  ][] = [
    ['of nothing', { amount: 0n }, /more than 0/],
    ['of less than nothing', { amount: -1n }, /more than 0/],
    ['without a reference', { reference: '' }, /1 to 255 characters/],
    ['under the reference of a voucher', { reference: 'voucher:1' }, /are reserved/],
    ['under the reference of a chain', { reference: 'chain:play:0x1:0' }, /are reserved/],
    ['with a reference of 256 characters', { reference: 'x'.repeat(256) }, /1 to 255 characters/],
    ['for an account that there is not', { account_id: randomUUID() }, /no balance is open/],
    ['beyond what the books can count', { amount: 2n ** 63n }, /out of range/],
  ];
  for (const [what, wanted, says] of cases) {
    test(what, async () => {
      const who = await customer(db, 0n);
      await assert.rejects(
        async () =>
          deposit(db, {
            account_id: who.account_id,
            amount: 1n,
            reference: randomUUID(),
            ...wanted,
          }),
        says,
      );
      assert.deepEqual(await kinds(who), []);
      assert.deepEqual(await balanceOf(db, who), { available: 0n, reserved: 0n });
    });
  }

  test('of an amount above the largest sum, and the account still works', async () => {
    const who = await customer(db, 2n ** 62n);
    await assert.rejects(
      deposit(db, { account_id: who.account_id, amount: 2n ** 62n, reference: randomUUID() }),
      /out of range/,
    );
    assert.deepEqual(await balanceOf(db, who), { available: 2n ** 62n, reserved: 0n });
    await adjust(db, {
      account_id: who.account_id,
      amount: -(2n ** 62n),
      reference: randomUUID(),
      reason: 'back to the small figures',
    });
  });
});

describe('a correction', () => {
  test('downwards never takes reserved money, also with many at once', async () => {
    const who = await customer(db, 1_000n);
    const request_id = await submit(db, who, { amount: 400n });
    const results = await times(10, (i) =>
      adjust(db, {
        account_id: who.account_id,
        amount: -100n,
        reference: `${who.key_id} ${i}`,
        reason: 'a fee',
      }),
    );
    assert.equal(values(results).length, 6);
    for (const error of reasons(results))
      assert.match(error.message, /more than the account has available/);
    assert.deepEqual(await balanceOf(db, who), { available: 0n, reserved: 400n });
    await end(db, cancelled(who, request_id));
    assert.deepEqual(await balanceOf(db, who), { available: 400n, reserved: 0n });
  });

  test('under a reference that was booked for another reason is refused', async () => {
    const who = await customer(db, 100n);
    const wanted = { account_id: who.account_id, amount: -30n, reference: randomUUID() };
    const first = await adjust(db, { ...wanted, reason: 'a fee' });
    const again = await adjust(db, { ...wanted, reason: ' a fee ' });
    assert.deepEqual(again, { ...first, replayed: true });
    await assert.rejects(
      adjust(db, { ...wanted, reason: 'a refund' }),
      /was already used for another booking/,
    );
    assert.deepEqual(await balanceOf(db, who), { available: 70n, reserved: 0n });
  });

  test('of a request: what its movements took and gave back', async () => {
    const who = await customer(db, 100n);
    await end(db, cancelled(who, await submit(db, who, { amount: 40n })));
    const rows = await statement(db, who.account_id, { limit: 10 });
    assert.deepEqual(
      rows.map(({ kind, direction }) => [kind, direction]),
      [
        ['release', 'in'],
        ['reserve', 'out'],
        ['deposit', 'in'],
      ],
    );
  });

  test('keeps its reason, and its amount shows which way it went', async () => {
    const who = await customer(db, 100n);
    await adjust(db, {
      account_id: who.account_id,
      amount: -30n,
      reference: randomUUID(),
      reason: 'taken back',
    });
    await adjust(db, {
      account_id: who.account_id,
      amount: 5n,
      reference: randomUUID(),
      reason: 'a gift',
    });
    const rows = await statement(db, who.account_id, { limit: 10 });
    assert.deepEqual(
      rows.map(({ kind, direction, amount_usd_micro, available_after_usd_micro, reason }) => [
        kind,
        direction,
        amount_usd_micro,
        available_after_usd_micro,
        reason,
      ]),
      [
        ['adjustment', 'in', 5n, 75n, 'a gift'],
        ['adjustment', 'out', 30n, 70n, 'taken back'],
        ['deposit', 'in', 100n, 100n, null],
      ],
    );
  });
});

test('a statement is read page by page, newest first, without a gap or a repeat', async () => {
  const [who, other] = [await customer(db, 100n), await customer(db, 100n)];
  const request_id = await submit(db, who, { amount: 10n });
  await submit(db, other, { amount: 10n });
  await end(db, cancelled(who, request_id));
  const pages: { seq: bigint; kind: string; request_id: string | null }[][] = [];
  for (let before: bigint | undefined; ;) {
    const page = await statement(db, who.account_id, { limit: 2, before });
    if (page.length === 0) break;
    pages.push(page);
    before = page.at(-1)!.seq;
  }
  assert.deepEqual(
    pages.map((page) => page.map(({ seq, kind, request_id: id }) => [seq, kind, id])),
    [
      [
        [3n, 'release', request_id],
        [2n, 'reserve', request_id],
      ],
      [[1n, 'deposit', null]],
    ],
  );
});

function byAmount(a: bigint, b: bigint): number {
  return a < b ? -1 : 1;
}
