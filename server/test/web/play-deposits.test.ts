import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { showAddress } from '../../src/core/deposit/address.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { endpointOf, playWorld } from '../chains/play-kit.ts';
import type { Service } from '../kit/service.ts';
import { person, startWebService } from '../kit/web.ts';
import { chain, keyOf } from '../operations/deposits-kit.ts';

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
    [world.play, null].map((play) => startWebService({ chains: { live, play, hangUp: () => {} } })),
  )) as [Service, Service];
});
after(async () => {
  await Promise.all([trial.audit(), real.audit()]);
  await Promise.all([trial.stop(), real.stop()]);
});

/** The status of a new account's call for play money, and its balance after the chain was read. */
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

async function read(service: Service): Promise<void> {
  await service.db.run(rawSql('update chains set wake_at = now()'));
  await service.app.chains!.runOnce();
}

test('play tokens are credited to who asks for them in the trial', async () => {
  assert.deepEqual(await asked(trial), [200, 25_000_000n]);
});

test('play tokens are paid nowhere but in the trial', async () => {
  assert.deepEqual(await asked(real), [404, 0n]);
});
