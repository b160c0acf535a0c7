/** The console's calls for blockchains: how far each is read, its deposits, its attention lines. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { liveChain } from '../../chains/scene.ts';
import { numbered, playWorld, withFaults, type Faults } from '../../chains/play-kit.ts';
import { RpcError } from '../../../src/chains/rpc.ts';
import { before, operatorOf, withWebService, type Person } from '../../kit/web.ts';
import { chain, keyOf, usdt } from '../../operations/deposits-kit.ts';

const explorer = { tx: 'https://play.example/tx/', address: 'https://play.example/address/' };
const tokens = chain.tokens.map((token) => ({ ...token, decimals: 6 }));
const file = { ...chain, start_height: null, explorer, tokens };
const world = playWorld(100, file);
const faults: Faults = {};
const faulty = withFaults(world.play.rpc, faults);
const lonely = { ...file, name: 'lonely', title: 'Lonely chain', chain_id: file.chain_id + 1 };
const live = [
  liveChain(file, [world.play.rpc, faulty]),
  liveChain(lonely, [numbered(faulty, lonely.chain_id)]),
];

let operator: Person;
let address: string;
const { service, account: customer } = withWebService({
  chains: { live, play: null, hangUp: () => {} },
  account: { usd: 0 },
});
before(async () => {
  operator = await operatorOf(service);
  await read();
  const { body } = await customer.get('/v1/deposit-addresses');
  address = body.data[0].address.toLowerCase();
});
beforeEach(async () => {
  delete faults.refuses;
  delete faults.lag;
  await read();
});

const change = (text: string) => service.db.run(rawSql(text));

/** Makes every chain due and reads it. */
async function read(): Promise<void> {
  await change('update chains set wake_at = now()');
  await service.app.chains!.runOnce();
}

async function get(path: string): Promise<any> {
  const { status, body, text } = await operator.call('GET', `/api/operator${path}`);
  assert.equal(status, 200, text);
  return body;
}

const chainNamed = async (name: string) =>
  (await get('/chains')).data.find((each: { chain: string }) => each.chain === name);
const lines = async (): Promise<Record<string, string[]>> => {
  const { data } = await get('/attention');
  return Object.fromEntries(data.map(({ what, of }: { what: string; of: string[] }) => [what, of]));
};

/** Pays on both chains, which have the same blocks, and reads until the payment is final. */
async function pay(units: bigint, token = usdt, to = address): Promise<string> {
  const hash = world.play.pay({ token, to, units });
  world.mine(4);
  await read();
  return hash;
}

describe('a chain', () => {
  test('shows how far it is read, and by how many endpoints', async () => {
    world.mine(10);
    await read();
    const shown = await chainNamed('play');
    const head = Number(world.head());
    assert.deepEqual(
      [shown.title, shown.state, shown.endpoints, shown.head_height, shown.scanned_height],
      ['Play chain', 'behind', 2, head, head - 3],
      'its blocks are of January',
    );
    assert.equal(shown.lag_blocks, 3);
    assert.ok(shown.lag_seconds > 900);
    assert.deepEqual([shown.failures, shown.last_error, shown.stopped_why], [0, null, null]);
    assert.equal((await chainNamed('lonely')).endpoints, 1);
  });

  test('shows its last error without keys', async () => {
    faults.refuses = new RpcError('eth_blockNumber', 401, 'no: https://me:passw0rd@x.example/');
    await read();
    await change('update chains set scanned_block_at = now()');
    const shown = await chainNamed('lonely');
    assert.deepEqual([shown.state, shown.failures], ['retrying', 1]);
    assert.match(shown.last_error, /eth_blockNumber: 401 no: .*redacted/);
    assert.doesNotMatch(shown.last_error, /passw0rd/);
  });

  test('that is no longer set up is shown, and needs no attention', async () => {
    await change(`insert into chains (name, chain_id, stopped_why) values ('old', 5, 'once')`);
    const shown = await chainNamed('old');
    assert.deepEqual([shown.state, shown.endpoints], ['not_set_up', 0]);
    assert.equal((await lines()).chain_stopped, undefined);
    await change(`delete from chains where name = 'old'`);
  });
});

describe('deposits', () => {
  test('are found by state, reason, chain, account and transaction', async () => {
    const credited = await pay(5_000_000n);
    const dust = await pay(500_000n);
    const at = (query: string) => get(`/deposits?${query}`);
    const hashes = async (query: string) =>
      (await at(query)).data.map((each: { tx_hash: string }) => each.tx_hash);
    assert.deepEqual(await hashes('state=credited&chain=play'), [credited]);
    assert.deepEqual(await hashes('why=dust&chain=lonely'), [dust]);
    assert.deepEqual(await hashes('state=held'), []);
    assert.deepEqual(await hashes(`tx_hash=${credited.slice(2).toUpperCase()}&chain=play`), [
      credited,
    ]);
    assert.equal((await hashes(`account_id=${customer.account_id}`)).length, 4);
    assert.deepEqual(await hashes('account_id=0190a0a0-0000-7000-8000-000000000000'), []);
    const first = await at('limit=3');
    const rest = await at(`limit=3&cursor=${first.next_cursor}`);
    assert.deepEqual([first.data.length, rest.data.length, rest.next_cursor], [3, 1, null]);
    const [row] = (await at('state=credited&chain=play')).data;
    assert.deepEqual(
      [row.token, row.amount_usd_micro, row.account_email, row.explorer_url, row.state, row.why],
      ['USDT', '5000000', customer.email, `${explorer.tx}${credited}`, 'credited', null],
    );
    assert.equal(row.to_address.toLowerCase(), address);
    assert.equal(row.address_url, explorer.address + row.to_address);
  });

  test('have one sum on their chain and in the ledger, and a difference is named', async () => {
    const sums = async () => (await get('/chains/sums')).data;
    const [, play] = await sums();
    assert.deepEqual([play.chain, play.differs], ['play', false]);
    assert.deepEqual(play.tokens, [
      { token: 'USDT', deposits: play.deposits, amount_usd_micro: play.amount_usd_micro },
    ]);
    assert.equal(play.ledger_usd_micro, play.amount_usd_micro);
    const more = (by: number) =>
      change(`update chain_deposits set amount_usd_micro = amount_usd_micro + ${by}
        where chain = 'play' and state = 'credited'`);
    await more(1);
    const differing = await sums();
    assert.deepEqual(
      differing.map(({ differs }: { differs: boolean }) => differs),
      [false, true],
    );
    await more(-1);
  });
});

describe('an operator', () => {
  const post = (path: string, body: object) => operator.call('POST', `/api/operator${path}`, body);
  /** A deposit that is held because the second endpoint does not know it. */
  async function held(): Promise<{ deposit_id: string; amount_usd_micro: string }> {
    faults.lag = 1_000;
    await pay(2_000_000n);
    return (await get('/deposits?state=held&chain=play')).data[0];
  }
  const stateOf = async (id: string) => {
    const { data } = await get('/deposits?chain=play');
    const row = data.find(({ deposit_id }: { deposit_id: string }) => deposit_id === id);
    return [row.state, row.why, row.transfer_id !== null];
  };

  test('credits a held deposit once', async () => {
    const { deposit_id, amount_usd_micro } = await held();
    const { available } = await service.balance(customer);
    const body = { account: customer.email, reason: 'looked at it' };
    const credit = () => post(`/deposits/${deposit_id}/credit`, body);
    const first = await credit();
    assert.equal(first.status, 200, first.text);
    assert.deepEqual([first.body.state, first.body.account_id], ['credited', customer.account_id]);
    const repeated = await credit();
    assert.equal(repeated.status, 400);
    assert.equal(repeated.body.error.details.reason, 'deposit_credited');
    const after = await service.balance(customer);
    assert.equal(after.available, available + BigInt(amount_usd_micro));
    assert.deepEqual(await stateOf(deposit_id), ['credited', null, true]);
  });

  test('credits a deposit without an account to the named one', async () => {
    const { deposit_id } = await held();
    await change(`update chain_deposits set account_id = null, why = 'unmatched'
      where id = '${deposit_id}'`);
    const other = await service.account({ usd: 0 });
    const path = `/deposits/${deposit_id}/credit`;
    const refused = [await post(path, {}), await post(path, { account: 'nobody@example.com' })];
    assert.deepEqual(
      refused.map(({ status, body }) => [status, body.error.details.reason]),
      [
        [400, 'deposit_unmatched'],
        [400, 'account_unknown'],
      ],
    );
    assert.equal((await post(path, { account: other.email })).status, 200);
    assert.equal((await service.balance(other)).available, 2_000_000n);
  });

  test('ignores a held deposit, which no read credits afterwards', async () => {
    const { deposit_id } = await held();
    const path = `/deposits/${deposit_id}/ignore`;
    assert.equal((await post(path, {})).status, 400);
    assert.equal((await post(path, { reason: 'a test of ours' })).status, 200);
    delete faults.lag;
    await read();
    assert.deepEqual(await stateOf(deposit_id), ['ignored', 'operator', false]);
  });

  test('resumes a chain that was stopped', async () => {
    await change(`update chains set stopped_why = 'replaced' where name = 'play'`);
    const { body } = await post('/chains/play/resume', { from_height: 100 });
    assert.deepEqual(body, { chain: 'play', stopped_why: 'replaced' });
    const shown = await chainNamed('play');
    assert.deepEqual([shown.stopped_why, shown.scanned_height], [null, 99]);
    assert.equal((await post('/chains/nowhere/resume', {})).status, 400);
    assert.equal((await post('/chains/play/resume', { from_height: -1 })).status, 400);
  });

  test('has blocks read again, and nothing is credited twice', async () => {
    const hash = await pay(3_000_000n);
    const { scanned_height } = await chainNamed('play');
    const refused = [
      await post('/chains/play/rescan', {}),
      await post('/chains/play/rescan', { from_height: 200, to_height: 100 }),
      await post('/chains/play/rescan', { from_height: scanned_height + 1 }),
    ];
    assert.deepEqual(
      refused.map(({ status }) => status),
      [400, 400, 400],
    );
    const { body, text } = await post('/chains/play/rescan', { from_height: 100 });
    assert.deepEqual(body, { chain: 'play', from: 100, to: scanned_height }, text);
    const begun = await chainNamed('play');
    assert.deepEqual(
      [begun.scanned_height, begun.rescan_from, begun.rescan_to],
      [scanned_height, 100, scanned_height],
    );
    const { available } = await service.balance(customer);
    await read();
    assert.equal((await chainNamed('play')).rescan_from, null);
    assert.equal((await service.balance(customer)).available, available, 'nothing twice');
    assert.equal((await get(`/deposits?chain=play&tx_hash=${hash}`)).data.length, 1);
  });
});

describe('the operator sees', () => {
  test('chains with one endpoint, always, and not those with two', async () => {
    assert.deepEqual((await lines()).chain_single_endpoint, ['Lonely chain']);
  });

  test('chains that are behind, stopped or refused, each once', async () => {
    await change(`update chains set scanned_block_at = now()`);
    const all = ['chain_behind', 'chain_stopped', 'chain_refused'];
    const told = async () => {
      const of = await lines();
      return all.flatMap((what) => (of[what] ? [[what, ...of[what]]] : []));
    };
    assert.deepEqual(await told(), []);
    await change(`update chains set read_at = now() - interval '16 min' where name = 'play'`);
    assert.deepEqual(await told(), [['chain_behind', 'Play chain']]);
    await change(`update chains set refused_why = 'no' where name = 'play'`);
    assert.deepEqual(await told(), [['chain_refused', 'Play chain']]);
    await change(`update chains set stopped_why = 'no' where name = 'play'`);
    assert.deepEqual(await told(), [['chain_stopped', 'Play chain']]);
    await change('update chains set stopped_why = null, refused_why = null');
  });

  test('chains whose second reading is late, on their page too', async () => {
    const { start_height, scanned_height, rescanned_height } = await chainNamed('play');
    const set = (blocks: number) =>
      change(`update chains set start_height = 0, scanned_height = 20000,
        rescanned_height = 20000 - ${blocks} where name = 'play'`);
    const told = async () => [
      (await lines()).chain_rescan_late,
      (await chainNamed('play')).rescan_late,
    ];
    await set(10_800);
    assert.deepEqual(await told(), [undefined, false]);
    await set(10_801);
    assert.deepEqual(await told(), [['Play chain'], true]);
    await change(`update chains set start_height = ${start_height},
      scanned_height = ${scanned_height}, rescanned_height = ${rescanned_height}
      where name = 'play'`);
  });

  test('another xpub than the stored one', async () => {
    assert.equal((await lines()).xpub_differs, undefined);
    const set = (xpub: string) => change(`update deposit_keys set xpub = '${xpub}'`);
    await set(keyOf('evm', 1).xpub);
    assert.deepEqual((await lines()).xpub_differs, ['FAREBOX_XPUB_EVM']);
    assert.equal((await chainNamed('play')).key_differs, true);
    await set(keyOf('evm').xpub);
  });

  test('held deposits, unconfirmed ones after a while', async () => {
    faults.lag = 1_000;
    await pay(7_000_000n);
    delete faults.lag;
    assert.equal((await lines()).deposits_held, undefined);
    assert.equal((await chainNamed('play')).held, 1);
    await change(`update chain_deposits set created_at = now() - interval '16 min'
      where state = 'held'`);
    assert.deepEqual((await lines()).deposits_held, ['Play chain 1']);
    await read();
    assert.equal((await lines()).deposits_held, undefined, 'both endpoints know it now');
  });
});

test('metrics say how far each chain is read, what failed and what came in', async () => {
  faults.refuses = new RpcError('eth_blockNumber', 503, 'busy');
  await read();
  const { text } = await service.call('GET', '/metrics', { base: service.base });
  const value = (name: string) => Number(text.match(new RegExp(`^${name} (.*)$`, 'm'))?.[1]);
  const head = Number(world.head());
  assert.equal(value('farebox_chain_head_height{chain="play"}'), head);
  assert.equal(value('farebox_chain_scanned_height{chain="play"}'), head - 3);
  assert.ok(value('farebox_chain_lag_seconds{chain="play"}') > 0);
  const { scanned_height, rescanned_height } = await chainNamed('play');
  const seconds = value('farebox_chain_rescan_lag_seconds{chain="play"}');
  assert.equal(seconds, scanned_height - rescanned_height);
  assert.equal(value('farebox_chain_stopped{chain="play"}'), 0);
  assert.ok(value('farebox_chain_reads_failed_total{chain="lonely"}') > 0);
  const [sums] = (await get('/chains/sums')).data;
  assert.equal(
    value('farebox_chain_deposits_usd_total{chain="lonely"}'),
    Number(sums.amount_usd_micro) / 1e6,
  );
});
