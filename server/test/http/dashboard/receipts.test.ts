/** Receipts for money that was paid in. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deposit, createVouchers } from '../../kit/by-command-line.ts';
import { showAddress } from '../../../src/core/deposit/address.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { redeemVoucher } from '../../../src/operations/accounts/voucher.ts';
import { endpointOf, playWorld } from '../../chains/play-kit.ts';
import type { TestAccount } from '../../kit/service.ts';
import { operatorOf, person, visitorOf, withWebService, type Person } from '../../kit/web.ts';
import { chain, keyOf, usdt } from '../../operations/deposits-kit.ts';

const explorer = { tx: 'https://play.example/tx/', address: 'https://play.example/address/' };
const file = { ...chain, start_height: null, explorer };
const world = playWorld(100, file);
const show = (address: string) => showAddress(address, 'evm');
const lines = 'Harbour Street 1\nTax id 12-345';
const endpoints = [endpointOf(world.play.rpc)] as const;
const live = [{ chain: file, endpoints, key: keyOf('evm'), show }];
const { service } = withWebService({
  env: { FAREBOX_LEGAL_NAME: 'Harbour Media Ltd', FAREBOX_RECEIPT_TEXT: lines },
  chains: { live, play: null, hangUp: () => {} },
});

type Calls = Pick<Person, 'call'>;

async function opened(usd = 5): Promise<{ account: TestAccount; owner: Person; own: Calls }> {
  const account = await service.account({ usd });
  const owner = await person(service, { [account.account_id]: 'owner' });
  return { account, owner, own: owner.of(account.account_id) };
}

async function read(): Promise<void> {
  await service.db.run(rawSql('update chains set wake_at = now()'));
  await service.app.chains!.runOnce();
}

/** The transfer of the account's newest deposit. */
async function newest({ call }: Calls): Promise<string> {
  return (await call('GET', '/statement?kind=deposit&limit=1')).body.data[0].transfer_id;
}

async function numbers(): Promise<bigint[]> {
  const rows = await service.db.run<{ number: bigint }>(sql`select number from receipts
    order by number`);
  return rows.map(({ number }) => number);
}

const counted = (rows: bigint[]) => rows.map((_, i) => BigInt(i + 1));

test('a paid deposit has a receipt with seller, buyer and amount, and a reprint is the same', async () => {
  const { account, own } = await opened(12.5);
  await own.call('PATCH', '/account', { name: 'Acme' });
  const set = await own.call('PUT', '/billed-to', { billed_to: ' Acme GmbH \r\n\n VAT 99\u200b ' });
  assert.deepEqual(set.body, { billed_to: 'Acme GmbH\nVAT 99' });
  const path = `/receipts/${await newest(own)}`;
  const { body: first } = await own.call('GET', path);
  assert.match(first.number, /^R-\d{6}$/);
  assert.deepEqual(
    [first.seller, first.buyer, first.amount_usd_micro, first.source, first.transaction],
    [
      `Harbour Media Ltd\n${lines}`,
      `Acme\n${account.email}\nAcme GmbH\nVAT 99`,
      '12500000',
      'paid',
      null,
    ],
  );
  await own.call('PATCH', '/account', { name: 'Other' });
  await own.call('PUT', '/billed-to', { billed_to: '' });
  const renamed = await service.another({
    FAREBOX_LEGAL_NAME: 'Somebody else',
    FAREBOX_TRUSTED_PROXIES: '1',
  });
  const there = visitorOf({ ...service, app: renamed.app }, '', (await ownerOf(account)).email);
  await there.signIn();
  const again = await there.of(account.account_id).call('GET', path);
  assert.deepEqual(again.body, first);
  await deposit(service.db, { account_id: account.account_id, amount: 1n, reference: 'later' });
  const later = await there.of(account.account_id).call('GET', `/receipts/${await newest(own)}`);
  assert.deepEqual(
    [later.body.seller, later.body.buyer],
    [`Somebody else\n${lines}`, `Other\n${account.email}`],
  );
  await renamed.app.stop();
});

async function ownerOf({ account_id }: TestAccount): Promise<{ email: string }> {
  const [row] = await service.db.run<{ email: string }>(sql`select p.email from members m
    join people p on p.id = m.person_id where m.account_id = ${account_id}`);
  return row!;
}

test('fifty receipts that are first seen at once have numbers without a gap', async () => {
  const before = (await numbers()).length;
  const accounts = await Promise.all([1, 2, 3, 4, 5].map(() => opened(1)));
  const asked: Promise<{ status: number; body: { number: string } }>[] = [];
  for (const { account, own } of accounts) {
    for (let i = 0; i < 4; i++)
      await deposit(service.db, {
        account_id: account.account_id,
        amount: 1n,
        reference: `${account.account_id} ${i}`,
      });
    const { body } = await own.call('GET', '/statement?kind=deposit');
    for (const { transfer_id } of body.data)
      for (let i = 0; i < 2; i++) asked.push(own.call('GET', `/receipts/${transfer_id}`));
  }
  const replies = await Promise.all(asked);
  assert.equal(replies.length, 50);
  assert.equal(new Set(replies.map(({ body }) => body.number)).size, 25);
  const all = await numbers();
  assert.deepEqual([all.length, all], [before + 25, counted(all)]);
});

test('a deposit from a chain names its transaction on the statement and the receipt', async () => {
  const { account, own } = await opened(0);
  await read();
  const asked = await account.get('/v1/deposit-addresses');
  const to = asked.body.data[0].address.toLowerCase();
  const tx_hash = world.play.pay({ token: usdt, to, units: 7n * 10n ** 18n });
  world.mine(4);
  await read();
  const transaction = {
    network: 'Play chain, USDT',
    tx_hash,
    explorer_url: `${explorer.tx}${tx_hash}`,
  };
  const { body } = await own.call('GET', '/statement/lines');
  assert.deepEqual([body.data[0].has_receipt, body.data[0].transaction], [true, transaction]);
  const receipt = (await own.call('GET', `/receipts/${body.data[0].id}`)).body;
  assert.deepEqual([receipt.source, receipt.transaction], ['chain', transaction]);
  const csv = (await own.call('GET', '/statement/export')).text;
  assert.ok(csv.includes(`,"${receipt.number}","play","${tx_hash}",`), csv);
});

test('an export issues the receipts of its deposits, and no others', async () => {
  const { account, own } = await opened(3);
  const { account_id } = account;
  await deposit(service.db, { account_id, amount: 5n, reference: 'a gift', source: 'bonus' });
  const wanted = { amount: 9n, count: 1, expires_at: null, note: null };
  const [voucher] = await createVouchers(service.db, wanted);
  await redeemVoucher(service.db, { account_id, code: voucher!.code });
  const before = (await numbers()).length;
  const { data } = JSON.parse((await own.call('GET', '/statement/export?format=json')).text);
  const shown = data.map(({ source, has_receipt, receipt }: any) => [
    source,
    has_receipt,
    /^R-\d{6}$/.test(receipt),
  ]);
  assert.deepEqual(shown, [
    ['paid', true, true],
    ['bonus', false, false],
    ['voucher', false, false],
  ]);
  for (const { transfer_id, has_receipt, receipt } of data) {
    const reply = await own.call('GET', `/receipts/${transfer_id}`);
    assert.equal(reply.status, has_receipt ? 200 : 404);
    if (has_receipt) assert.equal(reply.body.number, receipt);
  }
  assert.equal((await numbers()).length, before + 1);
});

test('a receipt is shown to the account and to operators, and to nobody else', async () => {
  const { account, own } = await opened(2);
  const other = await opened(2);
  const transfer_id = await newest(own);
  const before = (await numbers()).length;
  const seen = `/receipts/${transfer_id}`;
  assert.equal((await other.own.call('GET', seen)).status, 404);
  assert.equal((await other.owner.of(account.account_id).call('GET', seen)).status, 404);
  const operator = await operatorOf(service);
  const path = (account_id: string) => `/api/operator/accounts/${account_id}${seen}`;
  const wrong = [other.account.account_id, operator.id].map((id) => operator.call('GET', path(id)));
  for (const reply of await Promise.all(wrong)) assert.equal(reply.status, 404, reply.text);
  assert.equal((await numbers()).length, before);
  const reader = await person(service, { [account.account_id]: 'read_only' });
  const { status, body } = await reader.of(account.account_id).call('GET', seen);
  assert.equal(status, 200);
  assert.deepEqual((await operator.call('GET', path(account.account_id))).body, body);
  const set = await reader.of(account.account_id).call('PUT', '/billed-to', { billed_to: 'Me' });
  assert.equal(set.status, 403);
});

test('a receipt cannot be changed or removed', async () => {
  for (const text of [`update receipts set buyer = 'x'`, 'delete from receipts'])
    await assert.rejects(service.db.run(rawSql(text)), /append-only/);
});
