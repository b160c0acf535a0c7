import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { showAddress } from '../../../src/core/deposit/address.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { endpointOf, playWorld } from '../../chains/play-kit.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { startService, type Service, type TestAccount } from '../../kit/service.ts';
import { chain, keyOf, usdc, usdt } from '../../operations/deposits-kit.ts';

/** Deposits from a chain, as the holder of a key sees them. */

const world = playWorld();
const explorer = { tx: 'https://play.example/tx/', address: 'https://play.example/address/' };
const file = { ...chain, title: 'Play chain', start_height: null, explorer };
const show = (address: string) => showAddress(address, 'evm');
let service: Service;
let bare: Service;
before(async () => {
  const endpoints = [endpointOf(world.play.rpc)] as const;
  const live = [{ chain: file, endpoints, key: keyOf('evm'), show }];
  [service, bare] = await Promise.all([
    startService({ chains: { live, play: null, hangUp: () => {} } }),
    startService(),
  ]);
});
after(async () => {
  await Promise.all([service.audit(), bare.audit()]);
  await Promise.all([service.stop(), bare.stop()]);
});

async function get(path: string, { key }: TestAccount, from = service) {
  const reply = await from.call('GET', path, { key });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

/** Makes the chain due and reads it. */
async function read(): Promise<void> {
  await service.db.run(rawSql('update chains set wake_at = now()'));
  await service.app.chains!.runOnce();
}

async function addressOf(account: TestAccount): Promise<string> {
  const { data } = await get('/v1/deposit-addresses', account);
  return data[0].address;
}

const pay = (to: string, usd: bigint, token = usdt) =>
  world.play.pay({ token, to: to.toLowerCase(), units: usd * 10n ** 18n });
const states = ({ data }: { data: { state: string; amount: string }[] }) =>
  data.map(({ state, amount }) => `${state} ${amount}`);

describe('where no chain is set up', () => {
  test('there is no address and no deposit', async () => {
    const account = await bare.account();
    assert.deepEqual(await get('/v1/deposit-addresses', account, bare), { data: [] });
    assert.deepEqual(await get('/v1/deposits', account, bare), { data: [], next_cursor: null });
    assert.deepEqual((await get('/v1/balance', account, bare)).top_up, []);
  });
});

describe('an address', () => {
  test('is shown once its chain was read, with all that is needed to pay', async () => {
    const account = await service.account();
    assert.deepEqual(await get('/v1/deposit-addresses', account), { data: [] });
    await read();
    const { data } = await get('/v1/deposit-addresses', account);
    const [{ address, ...facts }] = data;
    assert.match(address, /^0x[0-9a-fA-F]{40}$/);
    assert.equal(address, show(address.toLowerCase()));
    assert.deepEqual(facts, {
      chain: 'play',
      title: 'Play chain',
      family: 'evm',
      chain_id: 7,
      token: { symbol: 'USDT', address: show(usdt), decimals: 18 },
      minimum_usd_micro: '1000000',
      finality: 'confirmations',
      confirmations: 3,
      block_seconds: 1,
      usual_seconds: 3,
      explorer_url: `https://play.example/address/${address}`,
    });
    assert.equal(data.length, 1, 'a token that is not credited is offered');
  });

  test('stays the same, belongs to no other account, and comes with the balance', async () => {
    const [account, other] = [await service.account(), await service.account({ usd: 0 })];
    const address = await addressOf(account);
    assert.equal(await addressOf(account), address);
    assert.notEqual(await addressOf(other), address);
    const entry = {
      chain: 'play',
      title: 'Play chain',
      token: 'USDT',
      address,
      minimum_usd_micro: '1000000',
    };
    assert.deepEqual((await get('/v1/balance', account)).top_up, [entry]);
    const refused = await service.call('POST', '/v1/queue/fake/image', {
      key: other.key,
      body: { prompt: 'a cat' },
    });
    assertRefused(refused, 'insufficient_balance');
    const { details } = refused.body.error;
    assert.deepEqual(details.top_up, [{ ...entry, address: await addressOf(other) }]);
    assert.equal(details.required_usd_micro, '10000');
  });

  const hidden: Record<string, string> = {
    'while its chain is stopped': "stopped_why = 'a block was replaced'",
    'while a setting of its chain is wrong': "refused_why = 'another chain'",
  };
  for (const [outcome, change] of Object.entries(hidden))
    test(`is not shown ${outcome}`, async () => {
      const account = await service.account();
      const address = await addressOf(account);
      await service.db.run(rawSql(`update chains set ${change}`));
      assert.deepEqual(await get('/v1/deposit-addresses', account), { data: [] });
      assert.deepEqual((await get('/v1/balance', account)).top_up, []);
      await service.db.run(rawSql('update chains set stopped_why = null, refused_why = null'));
      assert.equal(await addressOf(account), address);
    });
});

describe('the next read of a chain', () => {
  const secondsUntil = async () => {
    await read();
    const [row] = await service.db.run<{ seconds: number }>(sql`select round(extract(epoch
      from wake_at - read_at))::int as seconds from chains`);
    return row!.seconds;
  };

  test('comes sooner after somebody looked at an address, and not after other calls', async () => {
    const account = await service.account({ usd: 0 });
    await service.db.run(rawSql('update deposit_addresses set shown_at = null'));
    await get('/v1/balance', account);
    const body = { prompt: 'a cat' };
    await account.post('/v1/queue/fake/image', body);
    assert.equal(await secondsUntil(), 15);
    await addressOf(account);
    assert.equal(await secondsUntil(), 5);
  });
});

describe('a deposit', () => {
  test('is seen, then credited, and raises the balance once', async () => {
    const account = await service.account({ usd: 0 });
    const address = await addressOf(account);
    const tx_hash = pay(address, 25n);
    world.mine(2);
    await read();
    const [seen] = (await get('/v1/deposits', account)).data;
    assert.deepEqual(seen, {
      deposit_id: null,
      chain: 'play',
      token: 'USDT',
      address,
      tx_hash,
      log_position: null,
      amount: '25',
      amount_usd_micro: '25000000',
      state: 'seen',
      why: null,
      confirmations: 1,
      required: 3,
      explorer_url: `https://play.example/tx/${tx_hash}`,
      seen_at: seen.seen_at,
      credited_at: null,
      transfer_id: null,
    });
    assert.equal((await get('/v1/balance', account)).available_usd_micro, '0');
    world.mine(2);
    await read();
    await read();
    const [credited, ...more] = (await get('/v1/deposits', account)).data;
    assert.deepEqual(more, []);
    assert.deepEqual([credited.state, credited.log_position], ['credited', 0]);
    assert.ok(credited.deposit_id && credited.transfer_id && credited.credited_at);
    assert.equal((await get('/v1/balance', account)).available_usd_micro, '25000000');
  });

  test('that the network drops is shown as dropped', async () => {
    const account = await service.account({ usd: 0 });
    pay(await addressOf(account), 5n);
    world.mine();
    await read();
    world.play.reorg(1, 'dropped');
    await read();
    assert.deepEqual(states(await get('/v1/deposits', account)), ['dropped 5']);
    assert.equal((await get('/v1/balance', account)).available_usd_micro, '0');
  });

  test('below the minimum or of another token is shown as ignored, and says why', async () => {
    const account = await service.account({ usd: 0 });
    const address = await addressOf(account);
    pay(address, 0n);
    const to = address.toLowerCase();
    world.play.pay({ token: usdt, to, units: 10n ** 18n / 2n });
    world.play.pay({ token: usdc, to, units: 7_000_000n });
    world.mine(4);
    await read();
    const page = await get('/v1/deposits', account);
    assert.deepEqual(states(page), ['ignored 7', 'ignored 0.5']);
    assert.deepEqual(
      page.data.map(({ why, transfer_id }: any) => [why, transfer_id]),
      [
        ['token', null],
        ['dust', null],
      ],
    );
    assert.equal((await get('/v1/balance', account)).available_usd_micro, '0');
  });

  test('of another account is not shown, and pages go through all of them', async () => {
    const account = await service.account({ usd: 0 });
    const address = await addressOf(account);
    for (const usd of [1n, 2n, 3n]) pay(address, usd);
    pay(await addressOf(await service.account()), 9n);
    world.mine(4);
    await read();
    const first = await get('/v1/deposits?limit=2', account);
    assert.deepEqual(states(first), ['credited 3', 'credited 2']);
    const rest = await get(`/v1/deposits?limit=2&cursor=${first.next_cursor}`, account);
    assert.deepEqual([states(rest), rest.next_cursor], [['credited 1'], null]);
  });
});
