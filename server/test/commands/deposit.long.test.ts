/** `farebox deposit`: output, changes, log rows, and secrets that must never appear. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import * as chains from '../../src/db/deposits/chains.ts';
import { audit } from '../../src/ledger/audit.ts';
import { rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { issueAddress } from '../../src/operations/deposits/deposit-address.ts';
import { recordRead } from '../../src/operations/deposits/record-read.ts';
import { availableTo } from '../chains/scene.ts';
import type { Cleanup } from '../db/embedded-kit.ts';
import { customer, type Customer } from '../kit/by-hand.ts';
import { showAddress } from '../../src/core/deposit/address.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import vectors from '../fixtures/address-vectors.json' with { type: 'json' };
import { chain, keyOf, readTo, show, transferTo, usdc } from '../operations/deposits-kit.ts';
import { assertSaid, outputOf, placeFor } from './cli.ts';

// The first set of keys is the trial's.
const [evm, newer] = [keyOf('evm', 2), keyOf('evm', 1)];
let who: Customer;
let email: string;
let address: string;
let database: TestDatabase;
let db: Database;
beforeEach(async () => {
  database = await testDatabase();
  ({ db } = database);
  await chains.addMany(db, [{ name: chain.name, chain_id: 7n }]);
  who = await customer(db, 0n);
  const [row] = await db.run<{ email: string }>(sql`select email from accounts
    where id = ${who.account_id}`);
  email = row!.email;
  address = (await issueAddress(db, who.account_id, evm)).address!;
});
afterEach(async () => {
  const { violations } = await audit(db);
  await database.close();
  assert.deepEqual(violations, []);
});

const placeOf = (t: Cleanup, env: Record<string, string> = {}) =>
  placeFor(t, { DATABASE_URL: database.url, FAREBOX_UNSAFE_DATABASE: 'on', ...env });
const set = { FAREBOX_XPUB_EVM: evm.xpub };

let used = 0;
/** Makes the reader find these transfers in one read. Returns the ids of the deposits. */
async function found(review: bigint | null, ...changes: Parameters<typeof transferTo>[2][]) {
  await db.run(rawSql('update chains set wake_at = now()'));
  const [claim] = await chains.claimDue(db, [chain.name], 60);
  const all = changes.map((change) => transferTo(address, (used += 1), change));
  await recordRead(db, { chain, key: evm, show }, claim!.attempt, readTo(200, all), review);
  const rows = await db.run<{ id: string }>(sql`select id from chain_deposits
    where tx_hash = any(${all.map(({ tx_hash }) => tx_hash)}) order by id`);
  return rows.map(({ id }) => id);
}

const actions = () =>
  db.run<{ action: string; target: string; by_email: string; details: any; text: string }>(sql`
    select action, target, by_email, details, l::text as text from operator_log l order by seq`);

test('held and ignored deposits are listed in pages, credited, assigned and ignored', async (t) => {
  const run = (...args: string[]) => placeOf(t).run(['deposit', ...args]);
  const nobody = `0x${'e0'.repeat(20)}`;
  const [first, unmatched, token, spam] = await found(
    1n,
    {},
    { to_address: nobody },
    { token: usdc, units: 7_000_000n },
    {},
  );
  const listed = await run('list', '--state', 'held', '--limit', '2');
  assert.match(listed.stdout, new RegExp(`${spam} +play +5 +held: review +${email} +0x`));
  assert.match(listed.stdout, new RegExp(`"--before ${unmatched}" shows older ones`));
  const older = (await run('list', '--state', 'held', '--before', unmatched!, '--json')).json;
  assert.deepEqual(
    [older.data.map((row: any) => row.deposit_id), older.next, older.data[0].amount_usd_micro],
    [[first], null, '5000000'],
  );
  assert.equal(
    (await run('list', '--account', email, '--why', 'token', '--json')).json.data.length,
    1,
  );

  assert.match((await run('credit', first!)).stdout, /^5 USD credited to the account /);
  assertSaid(await run('credit', first!), /already credited, and that is never undone/);
  assertSaid(await run('credit', unmatched!), /No account has the address of this deposit/);
  const done = await run('assign', unmatched!, email, '--reason', 'seen in the explorer', '--json');
  assert.deepEqual(
    [done.json.state, done.json.account_id, done.json.amount_usd_micro],
    ['credited', who.account_id, '5000000'],
  );
  assertSaid(await run('credit', token!), /does not credit this token/);
  await run('credit', token!, '--account', email);
  assert.equal((await run('ignore', spam!, '--reason', 'spam', '--json')).json.state, 'ignored');
  assertSaid(await run('ignore', spam!, '--reason', 'spam'), /already ignored/);
  assert.equal(await availableTo(db, who), 17_000_000n);
  const rows = await actions();
  assert.deepEqual(
    rows.map(({ action, target, by_email, details }) => [action, target, by_email, details.reason]),
    [
      ['deposit.credit', first, 'command line', undefined],
      ['deposit.credit', unmatched, 'command line', 'seen in the explorer'],
      ['deposit.credit', token, 'command line', undefined],
      ['deposit.ignore', spam, 'command line', 'spam'],
    ],
  );
});

test('addresses are listed with their paths and what they got, for the wallet', async (t) => {
  const doubted = { units: 9n * 10n ** 18n, is_confirmed: false };
  await found(null, {}, { units: 3n * 10n ** 18n }, { token: usdc, units: 7_000_000n }, doubted);
  await db.run(rawSql('update deposit_addresses set retired_at = now()'));
  const { address: current } = await issueAddress(db, who.account_id, evm);
  const run = (...args: string[]) => placeOf(t).run(['deposit', 'addresses', ...args]);
  const { data } = (await run('--json')).json;
  const shown = [0, 1].map((index) => showAddress(evm.addressAt(index), 'evm'));
  assert.deepEqual(
    data.map((row: any) => [row.address, row.path, row.account_email, row.credited_usd_micro]),
    [
      [shown[0], "m/44'/60'/0'/0/0", email, '8000000'],
      [shown[1], "m/44'/60'/0'/0/1", email, '0'],
    ],
  );
  assert.deepEqual(data[0].received, [
    { chain: 'play', token: chain.tokens[0]!.address, units: String(8n * 10n ** 18n) },
    { chain: 'play', token: usdc, units: '7000000' },
  ]);
  assert.deepEqual([data[0].retired_at === null, data[1].retired_at], [false, null]);
  assert.equal(current, shown[1]!.toLowerCase());
  assert.match((await run()).stdout, new RegExp(`${shown[0]} +m/44'/60'/0'/0/0 +${email} +8 `));
  assert.deepEqual((await run('--since', '2000-01-01', '--json')).json.data.length, 1);
  assert.deepEqual((await run('--since', '2100-01-01', '--json')).json.data, []);
  assertSaid(await run('--since', 'soon'), /"soon" is not a date/);
});

test('a check finds another key, a missing one and a changed address', async (t) => {
  const check = (env: Record<string, string>) => placeOf(t, env).run(['deposit', 'check']);
  const fine = await check(set);
  assert.deepEqual(
    [fine.code, fine.stdout],
    [0, '1 key and 1 address: all as they were issued.\n'],
  );
  const findings: [env: Record<string, string>, says: RegExp][] = [
    [{ FAREBOX_XPUB_EVM: newer.xpub }, /FAREBOX_XPUB_EVM is not the key in the database/],
    [{}, /were issued, but FAREBOX_XPUB_EVM is not set/],
    [{ FAREBOX_XPUB_EVM: keyOf('evm').xpub }, /printed in manuals/],
  ];
  for (const [env, says] of findings) {
    const ran = await check(env);
    assert.match(ran.stdout, says);
    assert.equal(ran.code, 1);
    assert.ok(!ran.stdout.includes('xpub6'));
  }
  const changed = `0x${'bb'.repeat(20)}`;
  await db.run(rawSql('update deposit_addresses set address = $1', [changed]));
  const { json, code } = await placeOf(t, set).run(['deposit', 'check', '--json']);
  assert.deepEqual([code, json.ok, json.addresses, json.problems.length], [1, false, 1, 1]);
  const { evm: shown } = vectors.sets[2]!.addresses[0]!;
  assert.match(json.problems[0], new RegExp(`should be ${shown} \\(index 0\\)`));
});

test('a key is replaced on purpose only, and the earlier addresses are still read', async (t) => {
  const rotate = (xpub: string, family = 'evm') =>
    placeOf(t, { FAREBOX_XPUB_EVM: xpub }).run(['deposit', 'rotate', family]);
  assertSaid(await rotate(evm.xpub), /already the current one/);
  assertSaid(await rotate(keyOf('evm').xpub), /printed in manuals/);
  assertSaid(await rotate('xprv123'), /private key/);
  assertSaid(await rotate(evm.xpub, 'tron'), /FAREBOX_XPUB_TRON is not set/);
  assertSaid(await rotate(evm.xpub, 'btc'), /Allowed choices are evm, tron/);
  assert.equal((await issueAddress(db, who.account_id, evm)).address, address);
  assert.match((await rotate(newer.xpub)).stdout, /1 account will get one/);
  const { address: other } = await issueAddress(db, who.account_id, newer);
  assert.equal(other, newer.addressAt(0));
  await found(null, {});
  assert.equal(await availableTo(db, who), 5_000_000n);
  assert.equal(
    (await placeOf(t, { FAREBOX_XPUB_EVM: newer.xpub }).run(['deposit', 'check'])).code,
    0,
  );
  const last = (await actions()).at(-1)!;
  assert.deepEqual([last.action, last.target], ['deposit.rotate', 'evm']);
  assert.ok(!last.text.includes('xpub'));
});

test('blocks are read once more by name of the chain', async (t) => {
  const run = (...args: string[]) => placeOf(t).run(['deposit', 'rescan', ...args]);
  await found(null, {});
  assert.match(
    (await run('play', '120', '130')).stdout,
    /^Blocks 120 to 130 of play are read once/,
  );
  assert.match(
    (await placeOf(t).run(['chain', 'list'])).stdout,
    /\nplay: blocks 120 to 130 are read once more/,
  );
  assertSaid(await run('play', '1x'), /must be an integer from 0/);
  assertSaid(await run('play', '201'), /Block 201 of play was not read yet/);
  assertSaid(await run('tron', '1'), /No chain with the name tron was read yet/);
  assertSaid(await run('play'), /Give the first block, or --cancel/);
  assertSaid(await run('play', '120', '--cancel'), /Give the first block, or --cancel/);
  const { scanned_height } = (await chains.list(db))[0]!;
  assert.match((await run('play', '--cancel')).stdout, /^No rescan of play is under way now/);
  const [row] = await chains.list(db);
  assert.deepEqual(
    [row!.rescan_from, row!.rescan_to, row!.scanned_height],
    [null, null, scanned_height],
  );
  const done = await actions();
  assert.deepEqual(
    done.map(({ action, target, details }) => [action, target, details]),
    [
      ['chain.rescan', 'play', { from: '120', to: '130' }],
      ['chain.rescan', 'play', { from: null, to: null }],
    ],
  );
});

test('the public keys of a wallet are printed; its words never on stdout or with --json', async (t) => {
  const place = placeFor(t);
  const made = await place.command(['deposit', 'xpub']);
  assert.equal(made.code, 0);
  const [words] = made.stderr.split('\n');
  assert.equal(words!.split(' ').length, 24);
  for (const word of words!.split(' ')) assert.ok(!made.stdout.split(/\W/).includes(word));
  assert.equal(made.stdout.match(/^FAREBOX_XPUB_(EVM|TRON)=xpub6\w+$/gm)!.length, 2);

  const read = await typed(words!, '--json');
  for (const { xpub, first_address } of JSON.parse(read.stdout).keys) {
    assert.ok(made.stdout.includes(xpub));
    assert.ok(made.stdout.includes(first_address));
  }
  assert.doesNotMatch(read.stdout, /prv/);
  const known = vectors.sets[1]!;
  const { stdout } = await typed(known.mnemonic);
  assert.ok(
    stdout.startsWith(`FAREBOX_XPUB_EVM=${known.xpub_evm}\nFAREBOX_XPUB_TRON=${known.xpub_tron}\n`),
  );
  assert.ok(stdout.includes(`m/44'/195'/0'/0/0  ${known.addresses[0]!.tron}`));
  assertSaid(await place.run(['deposit', 'xpub', '--json']), /never part of --json/);
  const wrong = await typed('abandon abandon farebox');
  assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
  assert.doesNotMatch(wrong.stderr, /farebox/);

  async function typed(text: string, ...more: string[]) {
    const child = place.spawn(['deposit', 'xpub', '--read', ...more], {}, text);
    const said = outputOf(child);
    const [code] = await once(child, 'close');
    return { ...said, code };
  }
});
