import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { DepositKey } from '../../src/core/deposit/address.ts';
import * as addresses from '../../src/db/deposits/addresses.ts';
import * as chains from '../../src/db/deposits/chains.ts';
import { audit } from '../../src/ledger/audit.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { issueAddress, renewAddress } from '../../src/operations/deposits/deposit-address.ts';
import { recordRead } from '../../src/operations/deposits/record-read.ts';
import { rotateDepositKey } from '../../src/operations/deposits/rotate-key.ts';
import { commandLine, runAction } from '../../src/operations/operator-action.ts';
import { playWorld } from '../chains/play-kit.ts';
import { availableTo, liveChain, readerOf, readNow, seenBy } from '../chains/scene.ts';
import { balanceOf, customer, type Customer } from '../kit/by-hand.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { chain, keyOf, readTo, show, transferTo, usdt } from './deposits-kit.ts';

let database: TestDatabase;
let who: Customer;
const [first, second] = [keyOf('evm', 2), keyOf('evm', 1)];
// Each test has its own database, since the audit wants the addresses of all deposits.
beforeEach(async () => {
  database = await testDatabase();
  await chains.addMany(database.db, [{ name: chain.name, chain_id: 7n }]);
  who = await customer(database.db, 0n);
});
afterEach(async () => {
  assert.deepEqual((await audit(database.db)).violations, []);
  await database.close();
});

const address = (key = first, { account_id } = who) => issueAddress(database.db, account_id, key);
const renew = (key = first) => renewAddress(database.db, who.account_id, key);
const rotate = (key = second) =>
  runAction(database.db, commandLine, 'deposit.rotate', (inside) => rotateDepositKey(inside, key));
const differs = { address: null, differs: 'xpub_differs' };

let used = 0;
/** Pays 5 USDT to each of these addresses. */
async function pay(...to: (string | null)[]): Promise<bigint> {
  await database.db.run(rawSql('update chains set wake_at = now()'));
  const [claim] = await chains.claimDue(database.db, [chain.name], 60);
  const found = to.map((each) => transferTo(each!, (used += 1)));
  await recordRead(
    database.db,
    { chain, key: first, show },
    claim!.attempt,
    readTo(200, found),
    null,
  );
  return (await balanceOf(database.db, who)).available;
}

describe('a new address', () => {
  test('replaces the earlier one, which still belongs to the account', async () => {
    const { address: earlier } = await address();
    const { address: newer } = await renew();
    assert.deepEqual(await address(), { address: newer, differs: null });
    assert.deepEqual([earlier, newer], [first.addressAt(0), first.addressAt(1)]);
    assert.deepEqual(await addresses.listWatched(database.db, first), [earlier, newer].toSorted());
    assert.equal(await pay(earlier, newer), 10_000_000n);
  });

  test('is made until the account has twenty, also by simultaneous calls', async () => {
    await address();
    const all = await Promise.allSettled(Array.from({ length: 22 }, () => renew()));
    const refused = all.filter(({ status }) => status === 'rejected');
    assert.equal(refused.length, 3);
    const { reason } = refused[0] as PromiseRejectedResult;
    assert.deepEqual(reason.why, { reason: 'addresses_too_many', maximum: 20 });
    assert.equal((await addresses.listWatched(database.db, first)).length, 20);
  });

  test('is not given while the key or the current address differs', async () => {
    const { address: current } = await address();
    assert.deepEqual(await renew(second), differs);
    await database.db.run(
      rawSql('update deposit_addresses set address = $1', [`0x${'bb'.repeat(20)}`]),
    );
    assert.deepEqual(await renew(), { address: null, differs: 'address_differs' });
    assert.notEqual(current, null);
    assert.equal((await addresses.listWatched(database.db, first)).length, 1);
  });
});

describe('a key that an operator replaces', () => {
  test('gives every account a new address, and the earlier ones still belong to the accounts', async () => {
    const other = await customer(database.db, 0n);
    const [{ address: earlier }] = [await address(), await address(first, other)];
    assert.deepEqual(await address(second), differs);
    assert.deepEqual(await rotate(), { family: 'evm', retired_addresses: 2 });
    assert.deepEqual(await address(first), differs);
    const { address: newer } = await address(second);
    assert.equal(newer, second.addressAt(0));
    assert.equal(await pay(earlier, newer), 10_000_000n);
    const logged = await database.db.run(sql`select target, details, l::text as text
      from operator_log l order by seq desc limit 1`);
    const [{ text, ...row }] = logged as [{ text: string }];
    assert.deepEqual(row, { target: 'evm', details: { addresses: 2 } });
    assert.ok(!text.includes('xpub'));
  });

  test('may become the current one again, and no address is given twice', async () => {
    await address();
    await rotate();
    await rotate(first);
    const { address: newer } = await address(first);
    assert.equal(newer, first.addressAt(1));
  });

  test('is replaced once, and never by itself or before there is one', async () => {
    await assert.rejects(rotate(), { why: { reason: 'deposit_key_unused' } });
    await address();
    await assert.rejects(rotate(first), { why: { reason: 'deposit_key_same' } });
    const both = await Promise.allSettled([rotate(), rotate()]);
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  });

  test('never leaves an address of the earlier key current', async () => {
    for (let i = 0; i < 5; i++) {
      const [from, to] = i % 2 ? [second, first] : [first, second];
      await address(from);
      const fresh = await Promise.all(Array.from({ length: 4 }, () => customer(database.db, 0n)));
      await Promise.all([rotate(to), ...fresh.map((each) => address(from, each))]);
      const left = await database.db.run(sql`
        select a.address from deposit_addresses a join deposit_keys k on k.id = a.key_id
           where a.retired_at is null and k.retired_at is not null`);
      assert.deepEqual(left, []);
    }
  });
});

test('a deposit to an address of the trial is credited only in the trial', async () => {
  const { db } = database;
  // The private keys of the first set are public.
  const ofTrial = keyOf('evm');
  const { address: open } = await address(ofTrial);
  await rotate(first);
  const { address: own } = await address(first);
  assert.equal(own, first.addressAt(0));
  const [world, trial] = [playWorld(), playWorld(100, { ...chain, chain_id: 8 })];
  const read = async (name: string, key: DepositKey) => {
    const [{ play }, chain_id] = key === ofTrial ? ([trial, 8] as const) : ([world, 7] as const);
    const file = { ...chain, name, chain_id, start_height: null };
    return readNow(db, readerOf(db, { ...liveChain(file, [play.rpc]), key }), name);
  };
  await read('bsc', first);
  await read('trial', ofTrial);
  const units = 5n * 10n ** 18n;
  world.play.pay({ token: usdt, to: open!, units });
  const paid = world.play.pay({ token: usdt, to: own!, units });
  world.mine(1);
  await read('bsc', first);
  assert.deepEqual(await seenBy(db, who), [paid]);
  world.mine(5);
  await read('bsc', first);
  assert.equal(await availableTo(db, who), 5_000_000n);
  trial.play.pay({ token: usdt, to: open!, units });
  trial.mine(5);
  await read('trial', ofTrial);
  const credited = await db.run(sql`select chain, to_address from chain_deposits
       where account_id = ${who.account_id} and state = 'credited' order by chain`);
  assert.deepEqual(credited, [
    { chain: 'bsc', to_address: own },
    { chain: 'trial', to_address: open },
  ]);
});
