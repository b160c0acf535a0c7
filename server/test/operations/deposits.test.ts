import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { openBooks } from '../../src/ledger/ledger.ts';
import { statement } from '../../src/ledger/statement.ts';
import * as chains from '../../src/db/deposits/chains.ts';
import * as lists from '../../src/db/deposits/deposit-lists.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { issueAddress, listAddresses } from '../../src/operations/deposits/deposit-address.ts';
import { recordRead, type ChainRead } from '../../src/operations/deposits/record-read.ts';
import { balanceOf, customer, type Customer } from '../kit/by-hand.ts';
import { before, withBooks } from '../kit/with-database.ts';
import { chain, hashOf, keyOf, readTo, show, transferTo } from './deposits-kit.ts';

let who: Customer;
let address: string;
const key = keyOf('evm');
const database = withBooks();
before(() => chains.addMany(database.db, [{ name: chain.name, chain_id: 7n }]));
beforeEach(async () => {
  const { db } = database;
  await db.run(rawSql('delete from chain_sightings'));
  await db.run(sql`update chains set start_height = 100, scanned_height = 99, scanned_hash = null,
         rescanned_height = 99`);
  who = await customer(db, 0n);
  address = await addressOf(who);
});

async function addressOf({ account_id }: Customer): Promise<string> {
  const { address: found } = await issueAddress(database.db, account_id, key);
  assert.match(found!, /^0x[0-9a-f]{40}$/);
  return found!;
}

/** Records a read with the newest attempt. */
async function recorded(read: ChainRead, review: bigint | null = null) {
  await database.db.run(rawSql('update chains set wake_at = now()'));
  const [claim] = await chains.claimDue(database.db, [chain.name], 60);
  return recordRead(database.db, { chain, key, show }, claim!.attempt, read, review);
}

async function rowsOf({ account_id }: Customer): Promise<string[]> {
  const rows = await database.db.run<{ text: string }>(sql`
    select concat_ws(' ', state, why, amount_usd_micro) as text from chain_deposits
       where account_id = ${account_id} order by id`);
  return rows.map(({ text }) => text);
}

let used = 0;
const next = () => (used += 1);

describe('a deposit on a chain', () => {
  test('is credited once, under the name of its place', async () => {
    const n = next();
    const found = transferTo(address, n);
    const first = await recorded(readTo(200, [found]));
    assert.equal(first!.credited.length, 1);
    const again = await recorded(readTo(200, [found]));
    assert.deepEqual(again, { credited: [], held: 0 });
    assert.deepEqual(await balanceOf(database.db, who), { available: 5_000_000n, reserved: 0n });
    const [line] = await statement(database.db, who.account_id, { limit: 10 });
    assert.equal(line!.reference, `chain:play:${hashOf(n)}:0`);
  });

  test('to two accounts in one read goes to both', async () => {
    const other = await customer(database.db, 0n);
    const to = await addressOf(other);
    await recorded(readTo(200, [transferTo(address, next()), transferTo(to, next())]));
    for (const each of [who, other])
      assert.equal((await balanceOf(database.db, each)).available, 5_000_000n);
  });

  test('that only one endpoint knows is held, and credited once the other knows it', async () => {
    const found = transferTo(address, next());
    const first = await recorded(readTo(200, [{ ...found, is_confirmed: false }]));
    assert.deepEqual(first, { credited: [], held: 1 });
    assert.deepEqual(await rowsOf(who), ['held unconfirmed 5000000']);
    await recorded(readTo(200, [{ ...found, is_confirmed: false }]));
    assert.equal((await balanceOf(database.db, who)).available, 0n);
    const last = await recorded(readTo(200, [found]));
    assert.equal(last!.credited.length, 1);
    assert.deepEqual(await rowsOf(who), ['credited 5000000']);
  });

  test('above the limit is held, and below the minimum ignored', async () => {
    const large = transferTo(address, next());
    const dust = transferTo(address, next(), { units: 10n ** 18n - 1n });
    await recorded(readTo(200, [large, dust]), 4_999_999n);
    assert.deepEqual(await rowsOf(who), ['held review 5000000', 'ignored dust 999999']);
  });

  test('of more than there can be is held, and does not stop the reading', async () => {
    const found = transferTo(address, next(), { units: 2n ** 256n - 1n });
    await recorded(readTo(200, [found]));
    assert.deepEqual(await rowsOf(who), ['held review 9223372036854775807']);
  });

  test('to an address that no account has is held without an account', async () => {
    const n = next();
    const read = await recorded(readTo(200, [transferTo(`0x${'e0'.repeat(20)}`, n)]));
    assert.deepEqual(read, { credited: [], held: 1 });
    const rows = await database.db.run<{ why: string; account_id: string | null }>(sql`
      select why, account_id from chain_deposits where tx_hash = ${hashOf(n)}`);
    assert.deepEqual(rows, [{ why: 'unmatched', account_id: null }]);
  });

  test('to an earlier address of the account is credited', async () => {
    await database.db.run(sql`update deposit_addresses set retired_at = now()
      where address = ${address}`);
    const newer = await addressOf(who);
    assert.notEqual(newer, address);
    await recorded(readTo(200, [transferTo(address, next()), transferTo(newer, next())]));
    assert.equal((await balanceOf(database.db, who)).available, 10_000_000n);
  });

  test('found by an attempt that another has overtaken is not written', async () => {
    await database.db.run(rawSql('update chains set wake_at = now()'));
    const [late] = await chains.claimDue(database.db, [chain.name], 0);
    const [newer] = await chains.claimDue(database.db, [chain.name], 60);
    const read = readTo(200, [transferTo(address, next())]);
    assert.equal(
      await recordRead(database.db, { chain, key, show }, late!.attempt, read, null),
      null,
    );
    assert.deepEqual(await rowsOf(who), []);
    const [row] = await chains.list(database.db);
    assert.equal(row!.scanned_height, 99n);
    const both = await Promise.all(
      [late!, newer!].map(({ attempt }) =>
        recordRead(database.db, { chain, key, show }, attempt, read, null),
      ),
    );
    assert.deepEqual(
      both.map((each) => each?.credited.length),
      [undefined, 1],
    );
    assert.equal((await balanceOf(database.db, who)).available, 5_000_000n);
  });
});

describe('a deposit above the final block', () => {
  const seen = (n: number, index = 0) => {
    const { log_position: _, block_at: _at, is_confirmed: _is, ...facts } = transferTo(address, n);
    return { ...facts, block_log_index: index };
  };
  const shown = () =>
    database.db.run<{ tx: string; is_gone: boolean }>(sql`
      select tx_hash || ' ' || block_log_index as tx, gone_at is not null as is_gone
         from chain_sightings order by seen_at, tx_hash`);

  test('is shown and not credited until it is final', async () => {
    const n = next();
    await recorded(readTo(200, [], [seen(n)]));
    assert.deepEqual(await shown(), [{ tx: `${hashOf(n)} 0`, is_gone: false }]);
    assert.equal((await balanceOf(database.db, who)).available, 0n);
    await recorded(readTo(201, [transferTo(address, n)]));
    assert.deepEqual(await shown(), []);
    assert.equal((await balanceOf(database.db, who)).available, 5_000_000n);
  });

  test('is not written again while nothing changes', async () => {
    const n = next();
    const written = async () =>
      (await database.db.run(rawSql('select xmin::text, ctid::text from chain_sightings')))[0];
    await recorded(readTo(200, [], [seen(n)]));
    const first = await written();
    await recorded(readTo(200, [], [seen(n)]));
    assert.deepEqual(await written(), first);
    await recorded(readTo(200, [], [{ ...seen(n), block_height: 201n }]));
    assert.notDeepEqual(await written(), first);
  });

  test('that the chain drops is shown as dropped, and back if it comes back', async () => {
    const n = next();
    await recorded(readTo(200, [], [seen(n)]));
    await recorded(readTo(200, []));
    assert.deepEqual(await shown(), [{ tx: `${hashOf(n)} 0`, is_gone: true }]);
    await recorded(readTo(200, [], [seen(n)]));
    assert.deepEqual(await shown(), [{ tx: `${hashOf(n)} 0`, is_gone: false }]);
  });

  test('that a reorg gives another number is not shown twice', async () => {
    const n = next();
    await recorded(readTo(200, [], [seen(n)]));
    await recorded(readTo(200, [], [seen(n, 5)]));
    assert.deepEqual(await shown(), [{ tx: `${hashOf(n)} 5`, is_gone: false }]);
  });

  test('is shown once, although a chain that is behind does not look above it', async () => {
    const { db } = database;
    const n = next();
    await recorded(readTo(200, [], [seen(n)]));
    await recorded(readTo(201, [transferTo(address, n)], null));
    assert.deepEqual(await lists.listSightings(db, who.account_id, 10), []);
    const version = async () => (await lists.readVersions(db, [who.account_id], 10))[0]!.version;
    const before = await version();
    await recorded(readTo(201, []));
    assert.equal(await version(), before);
    assert.equal((await balanceOf(db, who)).available, 5_000_000n);
  });

  test('does not wait for the lock of the balance', async () => {
    const { db } = database;
    const n = next();
    await db.tx(async (tx) => {
      await openBooks(tx, [who.account_id]);
      await recorded(readTo(200, [], [seen(n)]));
    });
    assert.deepEqual(await shown(), [{ tx: `${hashOf(n)} 0`, is_gone: false }]);
  });

  test('is not changed by a read of only the final blocks', async () => {
    const n = next();
    await recorded(readTo(200, [], [seen(n)]));
    await recorded(readTo(201, [], null));
    assert.deepEqual(await shown(), [{ tx: `${hashOf(n)} 0`, is_gone: false }]);
  });
});

describe('the address of an account', () => {
  test('stays the same, and is no other account’s', async () => {
    assert.equal(await addressOf(who), address);
    assert.notEqual(await addressOf(await customer(database.db, 0n)), address);
  });

  test('is the same for many simultaneous calls', async () => {
    const fresh = await customer(database.db, 0n);
    const all = await Promise.all(Array.from({ length: 20 }, () => addressOf(fresh)));
    assert.equal(new Set(all).size, 1);
  });

  test('is not shown if the configured key differs from the stored one', async () => {
    const replaced = keyOf('evm', 1);
    const nothing = { address: null, differs: 'xpub_differs' };
    assert.deepEqual(await issueAddress(database.db, who.account_id, replaced), nothing);
    const fresh = await customer(database.db, 0n);
    assert.deepEqual(await issueAddress(database.db, fresh.account_id, replaced), nothing);
  });

  test('is not shown if somebody changed it in the database', async () => {
    const { account_id } = await customer(database.db, 0n);
    await issueAddress(database.db, account_id, key);
    const other = `0x${'bb'.repeat(20)}`;
    const change = 'update deposit_addresses set address = $1 where account_id = $2';
    await database.db.run(rawSql(change, [other, account_id]));
    assert.deepEqual(await issueAddress(database.db, account_id, key), {
      address: null,
      differs: 'address_differs',
    });
  });

  test('is issued by the first call for a balance only, and compared at each', async () => {
    const { db } = database;
    const { account_id } = await customer(db, 0n);
    let derived = 0;
    let transactions = 0;
    const counted = { ...key, addressAt: (index: number) => (derived++, key.addressAt(index)) };
    const watched: typeof db = { ...db, tx: (work) => (transactions++, db.tx(work)) };
    const shown = async () => {
      const offered = [{ chain, key: counted, show: (found: string) => found }];
      return (await listAddresses(watched, account_id, offered)).map((each) => each.address);
    };
    const [issued] = await shown();
    assert.equal(transactions, 1);
    for (const compared of [1, 2]) {
      assert.deepEqual(await shown(), [issued]);
      assert.deepEqual([derived, transactions], [1 + compared, 1]);
    }
    await db.run(
      rawSql('update deposit_addresses set address = $1 where account_id = $2', [
        `0x${'bc'.repeat(20)}`,
        account_id,
      ]),
    );
    assert.deepEqual(await shown(), []);
    assert.equal(transactions, 1);
  });

  test('of the other family comes from the other key', async () => {
    const found = await issueAddress(database.db, who.account_id, keyOf('tron'));
    assert.match(found.address!, /^0x[0-9a-f]{40}$/);
    assert.notEqual(found.address, address);
  });
});
