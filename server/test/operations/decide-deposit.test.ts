import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { adjust, deposit } from '../kit/by-command-line.ts';
import * as chains from '../../src/db/deposits/chains.ts';
import { newId } from '../../src/lib/id.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import {
  creditDeposit,
  ignoreDeposit,
  type CreditWanted,
} from '../../src/operations/deposits/decide-deposit.ts';
import { issueAddress } from '../../src/operations/deposits/deposit-address.ts';
import { recordRead } from '../../src/operations/deposits/record-read.ts';
import { commandLine, runAction } from '../../src/operations/operator-action.ts';
import { balanceOf, customer, type Customer } from '../kit/by-hand.ts';
import { before, withBooks } from '../kit/with-database.ts';
import { chain, hashOf, keyOf, readTo, show, transferTo, usdc } from './deposits-kit.ts';

let who: Customer;
let address: string;
const live = { chain, key: keyOf('evm'), show };
const nobody = `0x${'e0'.repeat(20)}`;
const { db } = withBooks();
before(() => chains.addMany(db, [{ name: chain.name, chain_id: 7n }]));
beforeEach(async () => {
  who = await customer(db, 0n);
  address = (await issueAddress(db, who.account_id, live.key)).address!;
});

async function read(found: ReturnType<typeof transferTo>, review: bigint | null = null) {
  await db.run(rawSql('update chains set wake_at = now()'));
  const [claim] = await chains.claimDue(db, [chain.name], 60);
  return recordRead(db, live, claim!.attempt, readTo(200, [found]), review);
}

let used = 0;
/** Deposits of this customer that are held or ignored. */
const made = {
  review: () => place((n) => transferTo(address, n), 1n),
  unconfirmed: () => place((n) => transferTo(address, n, { is_confirmed: false })),
  unplaced: () => place((n) => transferTo(address, n, { is_confirmed: false, log_position: null })),
  unmatched: () => place((n) => transferTo(nobody, n)),
  token: () => place((n) => transferTo(address, n, { token: usdc, units: 7_000_000n })),
  dust: () => place((n) => transferTo(address, n, { units: 10n ** 17n })),
  zero: () => place((n) => transferTo(address, n, { units: 0n })),
  endless: () => place((n) => transferTo(address, n, { units: 2n ** 256n - 1n }), 1n),
  credited: () => place((n) => transferTo(address, n)),
};

async function place(of: (n: number) => ReturnType<typeof transferTo>, review?: bigint) {
  const found = of((used += 1));
  await read(found, review);
  const [row] = await db.run<{ id: string }>(sql`select id from chain_deposits
    where tx_hash = ${found.tx_hash}`);
  return { id: row!.id, found };
}

const credit = (deposit_id: string, wanted: Omit<CreditWanted, 'deposit_id'> = {}) =>
  runAction(db, commandLine, 'deposit.credit', (inside) =>
    creditDeposit(inside, { deposit_id, ...wanted }, [live]),
  );
const ignore = (deposit_id: string) =>
  runAction(db, commandLine, 'deposit.ignore', (inside) =>
    ignoreDeposit(inside, { deposit_id, reason: 'spam' }),
  );
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: { why?: { reason?: string } }) => error.why?.reason ?? error,
  );
const balance = async (of: Customer = who) => (await balanceOf(db, of)).available;

async function stateOf(id: string): Promise<string> {
  const [row] = await db.run<{ text: string }>(sql`select concat_ws(' ', state, why) as text
    from chain_deposits where id = ${id}`);
  return row!.text;
}

const logged = (id: string) =>
  db.run<{ action: string; account_id: string; details: Record<string, unknown> }>(sql`
    select action, account_id, details from operator_log where target = ${id} order by seq`);

describe('an operator credits a deposit', () => {
  const credited: [kind: keyof typeof made, named: boolean, before: string, amount: bigint][] = [
    ['review', false, 'held review', 5_000_000n],
    ['unconfirmed', true, 'held unconfirmed', 5_000_000n],
    ['unmatched', true, 'held unmatched', 5_000_000n],
    ['token', true, 'ignored token', 7_000_000n],
    ['dust', false, 'ignored dust', 100_000n],
  ];
  for (const [kind, isNamed, earlier, amount] of credited)
    test(`that is ${earlier}, once, under the name of its place`, async () => {
      const { id, found } = await made[kind]();
      assert.equal(await stateOf(id), earlier);
      const done = await credit(id, isNamed ? { account_id: who.account_id } : {});
      assert.deepEqual(
        [done.state, done.account_id, done.amount_usd_micro],
        ['credited', who.account_id, amount],
      );
      assert.equal(await reasonOf(credit(id)), 'deposit_credited');
      assert.equal(await reasonOf(ignore(id)), 'deposit_credited');
      // The reader does not credit it again either.
      assert.deepEqual(await read(found), { credited: [], held: 0 });
      assert.equal(await balance(), amount);
      const [state, why] = earlier.split(' ');
      const reference = `chain:play:${found.tx_hash}:0`;
      assert.deepEqual(await logged(id), [
        {
          action: 'deposit.credit',
          account_id: who.account_id,
          details: {
            amount_usd_micro: String(amount),
            reference,
            before: { state, why },
            transfer_id: done.transfer_id,
          },
        },
      ]);
      const booked = await db.run(sql`select id, source, kind from transfers
        where reference = ${reference}`);
      assert.deepEqual(booked, [{ id: done.transfer_id, source: 'chain', kind: 'deposit' }]);
    });

  const refused: [
    kind: keyof typeof made,
    named: 'nobody' | 'own' | 'other' | 'strange',
    why: string,
  ][] = [
    ['credited', 'nobody', 'deposit_credited'],
    ['unmatched', 'nobody', 'deposit_unmatched'],
    ['unmatched', 'strange', 'account_unknown'],
    ['token', 'nobody', 'deposit_token'],
    ['unconfirmed', 'nobody', 'deposit_unconfirmed'],
    ['unplaced', 'own', 'deposit_unplaced'],
    ['token', 'other', 'deposit_of_other'],
    ['review', 'other', 'deposit_of_other'],
    ['zero', 'nobody', 'deposit_amount'],
    ['endless', 'nobody', 'deposit_amount'],
  ];
  for (const [kind, named, why] of refused)
    test(`not if it is ${kind} and the account is ${named}: ${why}`, async () => {
      const { id } = await made[kind]();
      const [state, before, other] = [await stateOf(id), await balance(), await customer(db, 0n)];
      const accounts = { nobody: null, own: who.account_id, other: other.account_id };
      const account_id = named === 'strange' ? newId() : accounts[named];
      assert.equal(await reasonOf(credit(id, { account_id })), why);
      assert.equal(await stateOf(id), state);
      assert.deepEqual([await balance(), await balance(other)], [before, 0n]);
      assert.deepEqual(await logged(id), []);
    });

  test('that was booked by hand under its hash only with a confirmation', async () => {
    const n = used + 1;
    const { account_id } = who;
    await deposit(db, { account_id, amount: 5_000_000n, reference: `wire ${hashOf(n)}` });
    const { id } = await made.credited();
    assert.equal(await stateOf(id), 'held review');
    assert.equal(await reasonOf(credit(id)), 'deposit_booked');
    assert.equal(await balance(), 5_000_000n);
    await credit(id, { allows_booked: true, reason: 'another payment' });
    assert.equal(await balance(), 10_000_000n);
    assert.equal((await logged(id))[0]!.details.reason, 'another payment');
  });

  test('not if the deposit does not exist', async () => {
    for (const id of [newId(), 'x']) {
      assert.equal(await reasonOf(credit(id)), 'deposit_unknown');
      assert.equal(await reasonOf(ignore(id)), 'deposit_unknown');
    }
  });

  test('once, if several do it at the same moment', async () => {
    const other = await customer(db, 0n);
    const { id } = await made.unmatched();
    const tried = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        reasonOf(credit(id, { account_id: (i % 2 ? who : other).account_id })),
      ),
    );
    assert.deepEqual(tried.toSorted(), [...Array(5).fill('deposit_credited'), null]);
    assert.equal((await balance()) + (await balance(other)), 5_000_000n);
    assert.equal((await logged(id)).length, 1);
  });

  test('once, if the reader confirms it or another ignores it at the same moment', async () => {
    for (let i = 0; i < 5; i++) {
      const { id, found } = await made.unconfirmed();
      const before = await balance();
      await Promise.all([
        reasonOf(credit(id, { account_id: who.account_id })),
        read({ ...found, is_confirmed: true }),
        reasonOf(ignore(id)),
      ]);
      const isCredited = (await stateOf(id)) === 'credited';
      assert.equal((await balance()) - before, isCredited ? 5_000_000n : 0n);
    }
  });
});

describe('an operator ignores a deposit', () => {
  test('that is held: it is not credited, stays ignored, and may still be credited later', async () => {
    const { id, found } = await made.unconfirmed();
    assert.equal((await ignore(id)).state, 'ignored');
    assert.equal(await stateOf(id), 'ignored operator');
    await read(found);
    await read({ ...found, is_confirmed: true });
    assert.equal(await stateOf(id), 'ignored operator');
    assert.equal(await balance(), 0n);
    assert.equal(await reasonOf(ignore(id)), 'deposit_ignored');
    const [row, ...more] = await logged(id);
    assert.deepEqual([row!.action, row!.details.reason, more], ['deposit.ignore', 'spam', []]);
    assert.equal(await reasonOf(credit(id)), 'deposit_unconfirmed');
    await credit(id, { account_id: who.account_id });
    assert.equal(await balance(), 5_000_000n);
  });
});

describe('a payment by hand that names the transaction', () => {
  const bare = (hash: string) => hash.slice(2);
  const forms: Record<string, (hash: string) => string> = {
    alone: (hash) => hash,
    'in capitals': (hash) => `TX ${bare(hash).toUpperCase()}`,
    'after digits and letters': (hash) => `trc20${bare(hash)}`,
    'after letters of a number': (hash) => `bsc${bare(hash)}`,
    'after 0x, before a letter': (hash) => `erc20:${hash}erc20`,
  };
  const byHand = (reference: string, more: object = {}) =>
    deposit(db, { account_id: who.account_id, amount: 5_000_000n, reference, ...more });
  for (const [form, reference] of Object.entries(forms)) {
    test(`${form} keeps the chain from crediting it too`, async () => {
      await byHand(reference(hashOf(used + 1)));
      const { id, found } = await made.credited();
      assert.equal(await stateOf(id), 'held review');
      await read(found);
      assert.equal(await balance(), 5_000_000n);
    });
    test(`${form} is refused once the chain has credited it`, async () => {
      const { found } = await made.credited();
      const named = reference(found.tx_hash);
      assert.equal(await reasonOf(byHand(named)), 'deposit_on_chain');
      assert.equal(await balance(), 5_000_000n);
      // A bonus and a correction with its name in the reference are other money.
      const { account_id } = who;
      await byHand(`bonus ${named}`, { source: 'bonus' });
      const correction = { account_id, amount: -1n, reference: `less ${named}`, reason: 'fee' };
      await adjust(db, correction);
      assert.equal(await balance(), 9_999_999n);
    });
  }
  test('and another one is refused, as it would keep the chain from crediting only one', async () => {
    const two = `paid by ${hashOf(used + 1)} and ${bare(hashOf(used + 2)).toUpperCase()}`;
    assert.equal(await reasonOf(byHand(two)), 'reference_transactions');
    const { account_id } = who;
    const correction = { account_id, amount: 1n, reference: two, reason: 'fee' };
    assert.equal(await reasonOf(adjust(db, correction)), 'reference_transactions');
    assert.equal(await balance(), 0n);
    await byHand(`${hashOf(used + 1)}, again ${hashOf(used + 1)}`);
    const { id } = await made.credited();
    assert.equal(await stateOf(id), 'held review');
  });
  test('is replayed after an operator has credited the deposit as well', async () => {
    const reference = `wire ${hashOf(used + 1)}`;
    const first = await byHand(reference);
    const { id } = await made.credited();
    await credit(id, { allows_booked: true });
    assert.deepEqual(await byHand(reference), {
      ...first,
      replayed: true,
      available_usd_micro: 10_000_000n,
    });
  });
  test('is booked while the deposit is not credited', async () => {
    const { id, found } = await made.unmatched();
    await byHand(found.tx_hash);
    assert.equal(await stateOf(id), 'held unmatched');
    assert.equal(await balance(), 5_000_000n);
  });
});

test('a deposit by hand cannot take the name of a deposit on a chain', async () => {
  const { account_id } = who;
  for (const reference of [`chain:play:${hashOf(9)}:0`, ' chain:x'])
    assert.equal(
      await reasonOf(deposit(db, { account_id, amount: 1n, reference })),
      'reference_reserved',
    );
});
