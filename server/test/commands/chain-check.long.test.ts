/** `farebox chain check`: faults of a chain's endpoints, found without a database. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { RpcError, type Rpc } from '../../src/chains/rpc.ts';
import { PlayChain } from '../../src/chains/play.ts';
import { symbolCall } from '../../src/chains/wire.ts';
import { withFaults, type Faults } from '../chains/play-kit.ts';
import { serveRpc } from '../chains/rpc-server.ts';
import { later, type Cleanup } from '../db/embedded-kit.ts';
import { chain, usdt } from '../operations/deposits-kit.ts';
import { assertSaid, placeFor, type Place } from './cli.ts';

const key = 'a-key-of-the-provider';
const file = `
name: test
family: evm
chain_id: 7
block_seconds: 1
finality: finalized
minimum_usd: "1"
tokens: [{ symbol: USDT, address: "${usdt}", decimals: 18, credit: true }]
`;
const head = 5_000n;
const symbol = `0x${[32n, 6n].map((n) => n.toString(16).padStart(64, '0')).join('')}${Buffer.from('USD₮').toString('hex').padEnd(64, '0')}`;

/** A chain with a transfer in its newest final block. */
function world(): Rpc {
  let height = head - 2n;
  const play = new PlayChain({
    chain: { ...chain, finality: 'finalized' },
    head: () => height,
    timeOf: () => new Date(),
  });
  play.pay({ token: usdt, to: `0x${'e0'.repeat(20)}`, units: 1n });
  height = head;
  return (method, params) => {
    const [call] = (params ?? []) as { data?: string }[];
    return call?.data === symbolCall ? Promise.resolve(symbol) : play.rpc(method, params);
  };
}

async function placeWith(t: Cleanup, ...faults: Faults[]): Promise<Place> {
  const rpc = world();
  const served = await Promise.all(faults.map((each) => serveRpc(withFaults(rpc, each))));
  for (const each of served) later(t, () => each.close());
  const place = placeFor(t);
  const dir = path.join(path.dirname(place.dir), 'chains');
  mkdirSync(dir);
  writeFileSync(path.join(dir, 'test.yaml'), file);
  place.env.FAREBOX_CHAINS = dir;
  if (served.length > 0)
    place.env.FAREBOX_RPC_TEST = served.map(({ url }) => `${url}/${key}`).join(' ');
  return place;
}

test('two good endpoints are shown with their limits, and without keys', async (t) => {
  const blocksMax: Faults['blocksMax'] = [
    10,
    new RpcError('eth_getLogs', -32600, `up to a 10 block range (${key})`),
  ];
  const place = await placeWith(t, { blocksMax }, {});
  const ran = await place.command(['chain', 'check', 'test', '--json']);
  assert.equal(ran.code, 0, ran.stdout + ran.stderr);
  const { checks, ok } = ran.json;
  assert.deepEqual([ok, checks.every((each: { ok: boolean }) => each.ok)], [true, true]);
  const text = checks.map((each: { text: string }) => each.text).join('\n');
  assert.match(text, /^chain id 7, and decimals as in the chain file\n/);
  assert.match(text, /USDT: 18 decimals; its contract calls it USD₮\n/);
  assert.match(text, /newest block 5000, final block 4999 by its own word/);
  assert.match(text, /answers eth_getLogs for 10 blocks and 10000 addresses at once/);
  assert.match(text, /answers eth_getLogs for 2000 blocks and 10000 addresses at once/);
  assert.match(text, /knows the receipts of transactions/);
  assert.match(text, /both endpoints have the same final block 4999, with 1 transfers$/);
  assert.ok(!(ran.stdout + ran.stderr).includes(key));
});

const wrong: [what: string, faults: Faults[], says: RegExp][] = [
  [
    'another chain',
    [{ forge: (method, answer) => (method === 'eth_chainId' ? '0x38' : answer) }],
    /wrong {2}endpoint 1 {2}The first endpoint is of the chain 56, but the chain file test says 7\. Set FAREBOX_RPC_TEST to endpoints of the chain 7\./,
  ],
  [
    'other decimals',
    [
      {
        forge: (method, answer) => (method === 'eth_call' ? `0x${'6'.padStart(64, '0')}` : answer),
      },
    ],
    /USDT has 6 decimals, but the chain file test says 18\. Correct/,
  ],
  [
    'no final block',
    [{ forge: (method, answer) => (method === 'eth_getBlockByNumber' ? null : answer) }],
    /does not know the final block\. Use another endpoint, or set finality/,
  ],
  [
    'no receipts',
    [{ forge: (method, answer) => (method.endsWith('Receipt') ? null : answer) }],
    /not the receipt of its transaction, so no deposit would be credited/,
  ],
  [
    'refusals that repeat its key',
    [{ refuses: new RpcError('eth_chainId', 403, `the key ${key} is exhausted`) }],
    /403 the key \[redacted\] is exhausted\. Check the address and the key/,
  ],
  [
    'logs that the other has and it has not',
    [{}, { gap: 4_999n }],
    /one endpoint has 1 transfers and the other 0\. The endpoint with fewer transfers leaves some out/,
  ],
];
for (const [what, faults, says] of wrong)
  test(`an endpoint with ${what} is named, with what to do`, async (t) => {
    const place = await placeWith(t, ...faults);
    const ran = await place.run(['chain', 'check', 'test']);
    assert.match(ran.stdout, says);
    assert.equal(ran.code, 1);
    assert.ok(!(ran.stdout + ran.stderr).includes(key));
  });

test('a chain without a file or an endpoint is refused', async (t) => {
  const place = await placeWith(t);
  assertSaid(await place.run(['chain', 'check', 'other']), /no chain "other"; there are test/);
  assertSaid(await place.run(['chain', 'check', 'test']), /FAREBOX_RPC_TEST is not set/);
  place.env.FAREBOX_RPC_TEST = 'ftp://x';
  assertSaid(await place.run(['chain', 'check', 'test']), /one or two https or http addresses/);
});
