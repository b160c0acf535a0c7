import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { adjust, deposit, refund, createVouchers } from '../kit/by-command-line.ts';
import { find } from '../../src/db/accounts/accounts.ts';
import { holdings, statement, statementLines } from '../../src/ledger/statement.ts';
import { redeemVoucher } from '../../src/operations/accounts/voucher.ts';
import {
  cancelled,
  completed,
  customer,
  end,
  start,
  submit,
  type Customer,
} from '../kit/by-hand.ts';
import { withBooks } from '../kit/with-database.ts';

const { db } = withBooks();

async function moneyOf({ account_id }: Customer): Promise<bigint[]> {
  const account = (await find(db, account_id))!;
  return [account.available_usd_micro, account.reserved_usd_micro, account.debt_usd_micro];
}

const correct = ({ account_id }: Customer, amount: bigint, allows_debt = false) =>
  adjust(db, { account_id, amount, reference: randomUUID(), reason: 'chargeback', allows_debt });
const pay = ({ account_id }: Customer, amount: bigint) =>
  deposit(db, { account_id, amount, reference: randomUUID() });

describe('a debt', () => {
  test('is taken up only if the operator allows it', async () => {
    const who = await customer(db, 30n);
    await assert.rejects(correct(who, -100n), /more than the account has available/);
    assert.deepEqual(await moneyOf(who), [30n, 0n, 0n]);
    await correct(who, -10n, true);
    assert.deepEqual(await moneyOf(who), [20n, 0n, 0n], 'what is available makes no debt');
    await correct(who, -100n, true);
    assert.deepEqual(await moneyOf(who), [0n, 0n, 80n]);
  });

  test('is paid first by deposits, as far as they go', async () => {
    const who = await customer(db, 30n);
    const before = await holdings(db);
    await correct(who, -100n, true);
    assert.equal((await holdings(db)).debt_usd_micro - before.debt_usd_micro, 70n);
    await pay(who, 50n);
    assert.deepEqual(await moneyOf(who), [0n, 0n, 20n]);
    const told = await pay(who, 25n);
    assert.deepEqual([told.available_usd_micro, told.debt_usd_micro], [5n, 0n]);
    await pay(who, 5n);
    assert.deepEqual(await moneyOf(who), [10n, 0n, 0n]);
    const rows = await statement(db, who.account_id, { limit: 10 });
    assert.deepEqual(
      rows.map((row) => [row.kind, row.direction, row.amount_usd_micro].join(' ')),
      [
        'deposit in 5',
        'debt out 20',
        'deposit in 25',
        'debt out 50',
        'deposit in 50',
        'adjustment out 100',
        'debt in 70',
        'deposit in 30',
      ],
    );
    const page = { from_seq: 1n, below_seq: 100n, from: null, to: null, limit: 10 };
    const lines = await statementLines(db, { account_id: who.account_id, ...page });
    assert.deepEqual(
      lines.map((line) => line.balance_usd_micro),
      [10n, 5n, 25n, 0n, 50n, 0n, 100n, 30n],
    );
  });

  test('is paid by vouchers, refunds and corrections too', async () => {
    const who = await customer(db, 100n);
    const request_id = await submit(db, who, { amount: 100n, upstream: 'paid' });
    await end(db, completed(who, await start(db, 'paid'), 100n));
    await correct(who, -60n, true);
    await refund(db, { request_id, amount: 10n, reference: randomUUID(), reason: 'late' });
    assert.deepEqual(await moneyOf(who), [0n, 0n, 50n]);
    await correct(who, 15n);
    assert.deepEqual(await moneyOf(who), [0n, 0n, 35n]);
    const [voucher] = await createVouchers(db, {
      amount: 40n,
      count: 1,
      expires_at: null,
      note: null,
    });
    await redeemVoucher(db, { account_id: who.account_id, code: voucher!.code });
    assert.deepEqual(await moneyOf(who), [5n, 0n, 0n]);
  });

  test('takes nothing from reservations, and nothing from releases', async () => {
    const who = await customer(db, 100n);
    const request_id = await submit(db, who, { amount: 80n });
    await correct(who, -50n, true);
    assert.deepEqual(await moneyOf(who), [0n, 80n, 30n]);
    await end(db, cancelled(who, request_id));
    assert.deepEqual(await moneyOf(who), [80n, 0n, 30n]);
  });

  test('that ten deposits pay at once is paid once', async () => {
    const who = await customer(db, 30n);
    await correct(who, -100n, true);
    await Promise.all(Array.from({ length: 10 }, () => pay(who, 10n)));
    assert.deepEqual(await moneyOf(who), [30n, 0n, 0n]);
    const rows = await statement(db, who.account_id, { limit: 100 });
    const paid = rows.filter((row) => row.kind === 'debt' && row.direction === 'out');
    assert.equal(paid.length, 7);
  });

  test('of one chargeback sent ten times at once is taken up once', async () => {
    const who = await customer(db, 30n);
    const wanted = { account_id: who.account_id, amount: -100n, reference: randomUUID() };
    const all = await Promise.all(
      Array.from({ length: 10 }, () =>
        adjust(db, { ...wanted, reason: 'chargeback', allows_debt: true }),
      ),
    );
    assert.equal(all.filter(({ replayed }) => !replayed).length, 1);
    assert.deepEqual(await moneyOf(who), [0n, 0n, 70n]);
  });
});
