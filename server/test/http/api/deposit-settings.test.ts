import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LiveChain } from '../../../src/chains/chains.ts';
import type { Chain } from '../../../src/core/deposit/chain.ts';
import * as chains from '../../../src/db/deposits/chains.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { playWorld, withFaults, type Faults } from '../../chains/play-kit.ts';
import { liveChain } from '../../chains/scene.ts';
import { before, withService } from '../../kit/with-service.ts';
import { chain, keyOf } from '../../operations/deposits-kit.ts';

/** Chains with a wrong setting: the operator reads why, and no customer gets an address. */

const ofChain = (id: string) => ({
  forge: (method: string, answer: unknown) => (method === 'eth_chainId' ? id : answer),
});
const other = ofChain('0x38');

/** A chain with a name of its own, whose endpoints have these faults. */
function wrong(name: string, change: Partial<Chain>, ...faults: Faults[]): LiveChain {
  const world = playWorld(200);
  const rpcs = faults.map((each) => withFaults(world.play.rpc, each));
  return liveChain({ ...chain, name, ...change }, rpcs);
}

const decimals = chain.tokens.map((token) => ({ ...token, decimals: 6 }));
const refused: Record<string, [live: LiveChain, why: RegExp]> = {
  'whose endpoint is of another chain': [
    wrong('other', {}, other),
    /^The first endpoint is of the chain 56, but the chain file other says 7\. Set FAREBOX_RPC_OTHER to endpoints of the chain 7\.$/,
  ],
  'whose endpoints are of different chains': [
    wrong('two', {}, {}, other),
    /^The second endpoint is of the chain 56, but the chain file two says 7\. Set FAREBOX_RPC_TWO to endpoints of the chain 7\.$/,
  ],
  'whose file has the number of another chain': [
    wrong('file', { chain_id: 56 }, {}),
    /^The first endpoint is of the chain 7, but the chain file file says 56\. Set FAREBOX_RPC_FILE /,
  ],
  'whose token has other decimals': [
    wrong('decimals', { tokens: decimals }, {}),
    /^USDT has 18 decimals, but the chain file decimals says 6\. Correct decimals or address of that token\.$/,
  ],
};
// With its own chain id, because a chain id that was read under another name is refused.
const good = wrong('good', { chain_id: 8 }, ofChain('0x8'));

const { service, account } = withService(async () => {
  const live = [good, ...Object.values(refused).map(([each]) => each)];
  return { chains: { live, play: null, hangUp: () => {} }, account: { usd: 0 } };
});
before(() => service.app.chains!.runOnce());

/** Names of the chains with an address: in the list, beside the balance, and in a refusal. */
async function shown(): Promise<string[][]> {
  const { key } = account;
  const [list, balance, submit] = [
    await service.call('GET', '/v1/deposit-addresses', { key }),
    await service.call('GET', '/v1/balance', { key }),
    await service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: 'a cat' } }),
  ];
  const entries = [list.body.data, balance.body.top_up, submit.body.error.details.top_up];
  return entries.map((each) => each.map((entry: { chain: string }) => entry.chain));
}

describe('a chain', () => {
  for (const [outcome, [{ chain: file }, why]] of Object.entries(refused))
    test(`${outcome} is refused with what to do, and shows no address`, async () => {
      const row = (await chains.list(service.db)).find(({ name }) => name === file.name)!;
      assert.match(row.refused_why!, why);
      assert.equal(row.scanned_height, null);
      for (const names of await shown()) assert.deepEqual(names, ['good']);
    });

  test('shows no address while the configured key is another than the stored one', async () => {
    for (const names of await shown()) assert.deepEqual(names, ['good']);
    const replace = 'update deposit_keys set xpub = $1';
    await service.db.run(rawSql(replace, [keyOf('evm', 1).xpub]));
    for (const names of await shown()) assert.deepEqual(names, []);
    await service.db.run(rawSql(replace, [keyOf('evm').xpub]));
    for (const names of await shown()) assert.deepEqual(names, ['good']);
  });
});
