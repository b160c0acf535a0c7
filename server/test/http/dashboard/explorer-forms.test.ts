/** Hashes and addresses have the form of their chain's explorer everywhere. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Family } from '../../../src/core/deposit/address.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { liveChain } from '../../chains/scene.ts';
import { playWorld } from '../../chains/play-kit.ts';
import { placeFor } from '../../commands/cli.ts';
import { openReceiver, receiverEnv, type Receiver } from '../../kit/receiver.ts';
import { before, operatorOf, person, withWebService, type Person } from '../../kit/web.ts';
import { chain as template } from '../../operations/deposits-kit.ts';

const usdt = template.tokens[0]!;
/** The same bytes in both forms. */
const forms: { name: string; family: Family; hash: RegExp; address: RegExp }[] = [
  {
    name: 'tron',
    family: 'tron',
    hash: /^[0-9a-f]{64}$/,
    address: /^T[1-9A-HJ-NP-Za-km-z]{33}$/,
  },
  {
    name: 'bsc',
    family: 'evm',
    hash: /^0x[0-9a-f]{64}$/,
    address: /^0x(?=.*[A-F])[0-9a-fA-F]{40}$/,
  },
];
const explorer = { tx: 'https://explorer.example/tx/', address: 'https://explorer.example/at/' };
const worlds = forms.map(({ name, family }, i) => {
  const file = { ...template, name, family, chain_id: 71 + i, start_height: null, explorer };
  return { file, ...playWorld(100, file) };
});

let receiver: Receiver;
let operator: Person;
const { service } = withWebService(async () => {
  receiver = await openReceiver();
  const live = worlds.map(({ play, file }) => liveChain(file, [play.rpc]));
  return {
    env: receiverEnv(receiver),
    chains: { live, play: null, hangUp: () => {} },
  };
});
before(async () => {
  operator = await operatorOf(service);
  await read();
});
after(async () => {
  await receiver.away(true);
});

async function read(): Promise<void> {
  await service.db.run(rawSql('update chains set wake_at = now()'));
  await service.app.chains!.runOnce();
}

for (const [i, { name, hash, address }] of forms.entries())
  test(`a deposit on ${name} has the hash and the addresses of its explorers`, async (t) => {
    const account = await service.account({ usd: 0 });
    const owner = (await person(service, { [account.account_id]: 'owner' })).of(account.account_id);
    const { play, mine } = worlds[i]!;
    const addresses = await account.get('/v1/deposit-addresses');
    const own = addresses.body.data.find((each: any) => each.chain === name);
    const [stored] = await service.db.run<{ address: string }>(sql`
      select address from deposit_addresses
        where account_id = ${account.account_id} and family = ${worlds[i]!.file.family}`);
    const paid = play.pay({ token: usdt.address, to: stored!.address, units: 5n * 10n ** 18n });
    mine(4);
    await read();

    const [deposit] = (await account.get('/v1/deposits')).body.data;
    const { body: statement } = await owner.call('GET', '/statement?kind=deposit');
    const csv = await owner.call('GET', '/statement/export');
    const receipt = await owner.call('GET', `/receipts/${statement.data[0].transfer_id}`);
    const listed = async (tx: string) =>
      (await operator.call('GET', `/api/operator/deposits?chain=${name}&tx_hash=${tx}`)).body
        .data[0];
    const row = await listed(paid);
    assert.deepEqual(await listed(paid.slice(2).toUpperCase()), row, 'found by both forms');
    await service.app.events.runOnce();
    const { event } = receiver.accepted.find(({ event: { data } }) => data.chain === name)!;
    const env = { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' };
    const run = async (...args: string[]) => {
      const { json } = await placeFor(t, env).run(['deposit', ...args, '--json']);
      return json.data[0];
    };
    const typed = await run('list', '--chain', name);
    const held = await run('addresses', '--account', account.email, '--since', '2026-01-01');

    const wanted = hash.exec(paid.slice(name === 'tron' ? 2 : 0))![0];
    assert.deepEqual(
      [
        deposit,
        statement.data[0].transaction,
        receipt.body.transaction,
        row,
        event.data,
        typed,
      ].map((each) => each.tx_hash),
      Array.from({ length: 6 }, () => wanted),
    );
    assert.ok(csv.text.includes(`,"${wanted}",`), csv.text);
    assert.ok(row.explorer_url.endsWith(`/tx/${wanted}`));
    for (const shown of [
      own.address,
      own.token.address,
      deposit.address,
      row.from_address,
      row.to_address,
      event.data.token,
      typed.token,
      typed.from_address,
      typed.to_address,
      held.address,
      held.received[0].token,
    ])
      assert.match(shown, address);
  });
