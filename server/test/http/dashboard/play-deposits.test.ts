import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { showAddress } from '../../../src/core/deposit/address.ts';
import type { Role } from '../../../src/core/account/role.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { endpointOf, playWorld } from '../../chains/play-kit.ts';
import { openEvents } from '../../kit/events.ts';
import type { Service } from '../../kit/service.ts';
import { person, startWebService } from '../../kit/web.ts';
import { chain, keyOf, usdt } from '../../operations/deposits-kit.ts';

/** Play money of the trial's chain. */

const tokens = chain.tokens.map((token) => ({ ...token, decimals: 6 }));
const file = { ...chain, start_height: null, tokens };
const world = playWorld(100, file);
const show = (address: string) => showAddress(address, 'evm');
const live = [
  { chain: file, endpoints: [endpointOf(world.play.rpc)] as const, key: keyOf('evm'), show },
];
let trial: Service;
let real: Service;
before(async () => {
  [trial, real] = (await Promise.all(
    [world.play, null].map((play) =>
      startWebService({ chains: { live, play, hangUp: () => {} }, times: { checkMs: 3_600_000 } }),
    ),
  )) as [Service, Service];
});
after(async () => {
  await Promise.all([trial.audit(), real.audit()]);
  await Promise.all([trial.stop(), real.stop()]);
});

/** A new account asks for play money: the status, and the balance after the chain was read. */
async function asked(service: Service): Promise<[status: number, available: bigint]> {
  const account = await service.account({ usd: 0 });
  const who = await person(service, { [account.account_id]: 'owner' });
  await read(service);
  const { status } = await who.call('POST', `/api/accounts/${account.account_id}/play-deposits`, {
    body: {},
  });
  world.mine(4);
  await read(service);
  return [status, (await service.balance(account)).available];
}

/** Without the check by the OpenAPI document, which does not have this call. */
function askedByKey({ base }: Service, key?: string): Promise<Response> {
  const headers: Record<string, string> = key ? { authorization: `Key ${key}` } : {};
  return fetch(`${base}/v1/play-deposits`, { method: 'POST', headers });
}

async function read(service: Service): Promise<void> {
  await service.db.run(rawSql('update chains set wake_at = now()'));
  await service.app.chains!.runOnce();
}

test('play tokens are credited to accounts that ask for them in the trial', async () => {
  assert.deepEqual(await asked(trial), [200, 25_000_000n]);
});

test('a page hears of a deposit when it is seen and when it is credited', async () => {
  const [own, other] = [await trial.account({ usd: 0 }), await trial.account({ usd: 0 })];
  await read(trial);
  const streams = await Promise.all(
    [own, other].map(async ({ account_id }) => {
      const who = await person(trial, { [account_id]: 'owner' });
      const cookie = [...who.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const path = `/api/accounts/${account_id}/events`;
      const events = await openEvents(trial.base, path, { headers: { cookie } });
      const next = async (...wanted: string[]) => {
        for (let found = await events.next(); found; found = await events.next())
          if (wanted.includes(found.event)) return found.event;
        return null;
      };
      assert.equal(await next('balance'), 'balance');
      return { ...who.of(account_id), events, next };
    }),
  );
  const [mine, theirs] = streams as [(typeof streams)[0], (typeof streams)[0]];
  assert.equal((await mine.call('POST', '/play-deposits', {})).status, 200);
  world.mine(2);
  await read(trial);
  assert.equal(await mine.next('deposits'), 'deposits');
  const states = async () =>
    (await mine.call('GET', '/v1/deposits')).body.data.map((each: any) => [
      each.state,
      each.confirmations,
    ]);
  assert.deepEqual(await states(), [['seen', 1]]);
  world.mine(1);
  await read(trial);
  assert.equal(await mine.next('deposits'), 'deposits');
  assert.deepEqual(await states(), [['seen', 2]]);
  world.mine(2);
  await read(trial);
  assert.equal(await mine.next('deposits'), 'deposits');
  assert.equal((await states())[0][0], 'credited');
  mine.events.leave();
  assert.equal((await theirs.call('POST', '/play-deposits', {})).status, 200);
  world.mine(4);
  await read(trial);
  // The other account gets the event of its balance first, then that of its deposit.
  assert.equal(await theirs.next('balance', 'deposits'), 'balance');
  assert.equal(await theirs.next('balance', 'deposits'), 'deposits');
  theirs.events.leave();
});

test('a new address is shown from then on, and the one before is still credited', async () => {
  const account = await trial.account({ usd: 0 });
  const { account_id } = account;
  const owner = (await person(trial, { [account_id]: 'billing' })).of(account_id);
  await read(trial);
  const shown = async () => {
    const { body } = await owner.call('GET', '/v1/deposit-addresses');
    return body.data[0].address as string;
  };
  const before = await shown();
  const renewed = await owner.call('POST', '/deposit-addresses', { chain: 'play' });
  assert.equal(renewed.status, 200, renewed.text);
  assert.equal(await shown(), renewed.body.address);
  assert.notEqual(renewed.body.address, before);
  for (const to of [before, renewed.body.address])
    world.play.pay({ token: usdt, to: to.toLowerCase(), units: 2_000_000n });
  world.mine(4);
  await read(trial);
  assert.equal((await trial.balance(account)).available, 4_000_000n);
  assert.equal((await owner.call('POST', '/deposit-addresses', { chain: 'moon' })).status, 404);
  const kept = await shown();
  await trial.db.run(rawSql(`update chains set stopped_why = 'replaced'`));
  assert.equal((await owner.call('POST', '/deposit-addresses', { chain: 'play' })).status, 503);
  await trial.db.run(rawSql('update chains set stopped_why = null'));
  assert.equal(await shown(), kept);
  const more = [];
  for (let i = 0; i < 20; i++)
    more.push((await owner.call('POST', '/deposit-addresses', { chain: 'play' })).status);
  assert.deepEqual([more[0], more.at(-1)], [200, 400]);
  const last = await shown();
  const reader = (await person(trial, { [account_id]: 'read_only' })).of(account_id);
  assert.equal((await reader.call('GET', '/v1/deposit-addresses')).status, 403);
  assert.equal((await reader.call('POST', '/deposit-addresses', { chain: 'play' })).status, 403);
  assert.equal(await shown(), last);
});

test('the addresses are shown, with the balance and a refusal, only to people who may pay', async () => {
  const account = await trial.account({ usd: 0 });
  const { account_id } = account;
  await read(trial);
  const shownTo = async (role: Role) => {
    const who = (await person(trial, { [account_id]: role })).of(account_id);
    const { body } = await who.call('GET', '/v1/balance');
    const addresses = await who.call('GET', '/v1/deposit-addresses');
    const refused = await who.call('POST', '/v1/queue/fake/image', { prompt: 'a cat' });
    const { code, details } = refused.body.error;
    return [body.top_up.length, addresses.status, code, details.top_up?.length];
  };
  assert.deepEqual(await shownTo('owner'), [1, 200, 'insufficient_balance', 1]);
  assert.deepEqual(await shownTo('billing'), [1, 200, 'forbidden', undefined]);
  assert.deepEqual(await shownTo('developer'), [0, 403, 'insufficient_balance', 0]);
  assert.deepEqual(await shownTo('read_only'), [0, 403, 'forbidden', undefined]);
});

test('a key gets play tokens too, and only with a key', async () => {
  const account = await trial.account({ usd: 0 });
  await read(trial);
  assert.equal((await askedByKey(trial)).status, 401);
  const reply = await askedByKey(trial, account.key);
  const { chain: name, tx_hash } = (await reply.json()) as { chain: string; tx_hash: string };
  assert.deepEqual([reply.status, name], [200, 'play']);
  world.mine(4);
  await read(trial);
  const [deposit] = (await trial.call('GET', '/v1/deposits', account)).body.data;
  assert.deepEqual([deposit.state, deposit.tx_hash], ['credited', tx_hash]);
  assert.equal((await trial.balance(account)).available, 25_000_000n);
});

test('play tokens are paid only in the trial', async () => {
  assert.deepEqual(await asked(real), [404, 0n]);
  const account = await real.account({ usd: 0 });
  assert.equal((await askedByKey(real, account.key)).status, 404);
  world.mine(4);
  await read(real);
  assert.equal((await real.balance(account)).available, 0n);
});
