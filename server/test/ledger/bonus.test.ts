import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { adjust, deposit } from '../kit/by-command-line.ts';
import { statement } from '../../src/ledger/statement.ts';
import { expireBonuses } from '../../src/operations/accounts/bonus.ts';
import type { Deposit } from '../../src/operations/accounts/book-by-hand.ts';
import { Refusal } from '../../src/operations/refusal.ts';
import {
  balanceOf,
  cancelled,
  completed,
  customer,
  end,
  start,
  submit,
  trySubmit,
  type Customer,
} from '../kit/by-hand.ts';
import { endBonuses, passEnds } from '../kit/bonuses.ts';
import { withBooks } from '../kit/with-database.ts';

const { db } = withBooks();

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);

const give = (
  { account_id }: Customer,
  amount: bigint,
  days: number,
  more: Partial<Deposit> = {},
) =>
  deposit(db, {
    account_id,
    amount,
    reference: randomUUID(),
    source: 'bonus',
    expires_at: inDays(days),
    ...more,
  });

async function spend(who: Customer, amount: bigint): Promise<void> {
  const upstream = randomUUID();
  await submit(db, who, { amount, upstream });
  await end(db, completed(who, await start(db, upstream), amount));
}

async function expiries({ account_id }: Customer): Promise<bigint[]> {
  const rows = await statement(db, account_id, { limit: 100 });
  return rows.filter(({ kind }) => kind === 'expiry').map((row) => row.amount_usd_micro);
}

describe('a bonus with an end', () => {
  test('is spent before paid money, and its unspent part goes back once', async () => {
    const who = await customer(db, 100n);
    await give(who, 50n, 30);
    await spend(who, 20n);
    await expireBonuses(db, 100);
    assert.deepEqual(await balanceOf(db, who), { available: 130n, reserved: 0n }, 'not yet');
    await endBonuses(db, who.account_id);
    await expireBonuses(db, 100);
    assert.deepEqual(await balanceOf(db, who), { available: 100n, reserved: 0n });
    assert.deepEqual(await expiries(who), [30n]);
  });

  test('that was spent ends with nothing, and paid money stays', async () => {
    const who = await customer(db, 100n);
    await give(who, 50n, 30);
    await spend(who, 60n);
    await endBonuses(db, who.account_id);
    assert.deepEqual(await balanceOf(db, who), { available: 90n, reserved: 0n });
    assert.deepEqual(await expiries(who), [0n]);
  });

  test('does not pay for what was spent before it', async () => {
    const who = await customer(db, 100n);
    await give(who, 10n, 30);
    await spend(who, 40n);
    await give(who, 50n, 31);
    await endBonuses(db, who.account_id);
    assert.deepEqual(await balanceOf(db, who), { available: 70n, reserved: 0n });
    assert.deepEqual(await expiries(who), [50n, 0n]);
  });

  test('is spent before a bonus that ends later, which stays', async () => {
    const who = await customer(db, 0n);
    await give(who, 50n, 1500);
    await give(who, 50n, 30);
    await spend(who, 60n);
    await endBonuses(db, who.account_id);
    assert.deepEqual(await expiries(who), [0n]);
    assert.deepEqual(await balanceOf(db, who), { available: 40n, reserved: 0n });
    await endBonuses(db, who.account_id);
    assert.deepEqual(await expiries(who), [40n, 0n]);
    assert.deepEqual(await balanceOf(db, who), { available: 0n, reserved: 0n });
  });

  test('leaves what is reserved, and a release of it stays with the account', async () => {
    const who = await customer(db, 0n);
    await give(who, 50n, 30);
    const request_id = await submit(db, who, { amount: 30n });
    await endBonuses(db, who.account_id);
    assert.deepEqual(await balanceOf(db, who), { available: 0n, reserved: 30n });
    assert.deepEqual(await expiries(who), [20n]);
    await end(db, cancelled(who, request_id));
    await expireBonuses(db, 100);
    assert.deepEqual(await balanceOf(db, who), { available: 30n, reserved: 0n });
  });

  test('pays a debt first, and only the rest of it can end', async () => {
    const who = await customer(db, 10n);
    const { account_id } = who;
    const chargeback = { account_id, amount: -30n, reference: randomUUID(), reason: 'chargeback' };
    await adjust(db, { ...chargeback, allows_debt: true });
    await give(who, 50n, 30);
    assert.deepEqual(await balanceOf(db, who), { available: 30n, reserved: 0n });
    await endBonuses(db, account_id);
    assert.deepEqual(await balanceOf(db, who), { available: 0n, reserved: 0n });
    assert.deepEqual(await expiries(who), [30n]);
  });

  test('ends once, even if many workers end it during charges and submits', async () => {
    const who = await customer(db, 100n);
    await give(who, 100n, 30);
    const upstream = randomUUID();
    for (let i = 0; i < 4; i++) await submit(db, who, { amount: 10n, upstream });
    const claims = [];
    for (let i = 0; i < 4; i++) claims.push(await start(db, upstream));
    await passEnds(db, who.account_id);
    await Promise.all([
      ...claims.map((claim) => end(db, completed(who, claim, 10n))),
      ...Array.from({ length: 4 }, () => expireBonuses(db, 100)),
      ...Array.from({ length: 10 }, () => trySubmit(db, who, { amount: 10n })),
    ]);
    const [amount, ...more] = await expiries(who);
    assert.deepEqual(more, []);
    assert.ok(amount! <= 60n, `${amount} of a bonus of which 40 were reserved or charged`);
    const { available, reserved } = await balanceOf(db, who);
    assert.equal(available + reserved, 160n - amount!);
  });

  test('has its end under its reference, in the future, and only a bonus has one', async () => {
    const who = await customer(db, 0n);
    const reference = randomUUID();
    const expires_at = inDays(30);
    const first = await give(who, 50n, 30, { reference, expires_at });
    const again = await give(who, 50n, 30, { reference, expires_at });
    assert.deepEqual(again, { ...first, replayed: true });
    const refused: [reason: string, more: Partial<Deposit>][] = [
      ['reference_used', { reference, expires_at: inDays(31) }],
      ['reference_used', { reference, expires_at: null }],
      ['end_passed', { expires_at: new Date(Date.now() - 1) }],
      ['end_without_bonus', { source: 'paid' }],
      ['end_without_bonus', { source: 'refund' }],
    ];
    for (const [reason, more] of refused)
      await assert.rejects(
        give(who, 50n, 30, more),
        (error: unknown) => error instanceof Refusal && error.why.reason === reason,
      );
    assert.deepEqual(await balanceOf(db, who), { available: 50n, reserved: 0n });
  });
});
