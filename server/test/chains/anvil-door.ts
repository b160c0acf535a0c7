import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { openRpc, RpcError, type Rpc } from '../../src/chains/rpc.ts';
import { hexOf, topicOf, wordOf } from '../../src/chains/wire.ts';
import type { Chain } from '../../src/core/deposit/chain.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import playTokens from '../fixtures/play-tokens.json' with { type: 'json' };
import { until } from '../kit/until.ts';
import { chain, usdt } from '../operations/deposits-kit.ts';
import type { ChainWorld, Door, Payment } from './doors.ts';
import { withFaults } from './play-kit.ts';

/**
 * The path of a real node's program: `FAREBOX_TEST_ANVIL`, or the package `@foundry-rs/anvil`; null
 * if there is none. The node's tokens are those of `PlayTokens.sol`.
 */
export function findAnvil(): string | null {
  const { FAREBOX_TEST_ANVIL: given } = process.env;
  if (given !== undefined) return given;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  try {
    const path = `@foundry-rs/anvil-${process.platform}-${arch}/bin/anvil`;
    const found = createRequire(import.meta.url).resolve(path);
    return existsSync(found) ? found : null;
  } catch {
    return null;
  }
}

/** Calls of the contracts in `PlayTokens.sol`. */
export const call = {
  mint: (to: string, units: bigint) => `0x40c10f19${word(to)}${word(units)}`,
  transfer: (to: string, units: bigint) => `0xa9059cbb${word(to)}${word(units)}`,
  /** The token takes `points` hundredths of a percent of each later transfer, at most `max`. */
  setFee: (points: bigint, max: bigint) => `0xc0324c77${word(points)}${word(max)}`,
  /** Pays and undoes the payment within a transaction that succeeds. */
  undone: (token: string, to: string, units: bigint) =>
    `0x05c9a3b9${word(token)}${word(to)}${word(units)}`,
  lie: (from: string, to: string, units: bigint) =>
    `0x352b3321${word(from)}${word(to)}${word(units)}`,
};

function payMany(token: string, payments: readonly Payment[]): string {
  const list = (values: string[]) => word(BigInt(values.length)) + values.join('');
  const to = list(payments.map((each) => word(each.to)));
  const units = list(payments.map((each) => word(each.units)));
  return `0x95ecdced${word(token)}${word(96n)}${word(96n + BigInt(to.length / 2))}${to}${units}`;
}

function word(value: string | bigint): string {
  return (typeof value === 'string' ? topicOf(value) : wordOf(value)).slice(2);
}

/** The addresses of the contracts that are not tokens. */
export const contracts = { batch: `0x${'b1'.repeat(20)}`, liar: `0x${'b2'.repeat(20)}` };

const usdt6 = { symbol: 'USDT', address: usdt, decimals: 6, credit: true };
const refusal = (code: number, text: string) => new RpcError('eth_getLogs', code, text);

export const anvilDoor: Door = {
  name: 'anvil',
  chain: {
    ...chain,
    name: 'anvil',
    chain_id: 31_337,
    finality: 'finalized',
    tokens: [usdt6, ...chain.tokens.slice(1)],
  },
  // The node runs with one slot an epoch.
  finalAfter: 2,
  words: {
    blocks: (most) => refusal(-32602, `range ${most + 1} exceeds limit of ${most}`),
    addresses: (most) => refusal(-32602, `exceed max topics: ${most}`),
    logs: (most) => refusal(-32005, `query returned more than ${most} results`),
    rate: refusal(429, 'too many requests'),
  },
  open: (file) => openAnvil(findAnvil()!, file),
};

/** A chain that runs contracts. */
export interface ContractWorld extends ChainWorld {
  /** Puts a transaction, which may fail, into the next block. Returns its hash. */
  send(to: string, data: string): Promise<string>;
}

async function openAnvil(program: string, file: Chain): Promise<ContractWorld> {
  const { child, url } = await start(program, file);
  const fetch = createFetch({ guard: false });
  const rpc = openRpc(fetch, { url });
  const senders = (await rpc('eth_accounts')) as string[];
  const tokens = new Map(file.tokens.map(({ address, decimals }) => [address, decimals]));
  for (const address of tokens.keys()) await install(rpc, address, tokens.get(address)!);
  const { PlayBatch, PlayLiar } = playTokens.deployed_bytecode;
  await rpc('anvil_setCode', [contracts.batch, PlayBatch]);
  await rpc('anvil_setCode', [contracts.liar, PlayLiar]);
  // The newest block is 100, as on the other chains, and a final block exists.
  await rpc('anvil_mine', ['0x4']);
  let sent = 0;
  // Each transaction has another sender, so that none waits for an earlier one.
  const send = async (to: string, data: string) => {
    const from = senders[sent++ % senders.length];
    return (await rpc('eth_sendTransaction', [
      { from, to, data, gas: hexOf(2_000_000n) },
    ])) as string;
  };
  const mine = (count = 1) => rpc('anvil_mine', [hexOf(BigInt(count))]);
  return {
    send,
    async pay(...payments) {
      const [{ token, to, units }] = payments as [Payment];
      if (!tokens.has(token)) await install(rpc, token, 6);
      tokens.set(token, 6);
      return payments.length > 1
        ? send(contracts.batch, payMany(token, payments))
        : send(token, call.mint(to, units));
    },
    mine: async (count) => void (await mine(count)),
    async reorg(depth, payments) {
      const head = BigInt((await rpc('eth_blockNumber')) as string);
      const undone: unknown[] = [];
      for (let height = head - BigInt(depth) + 1n; height <= head; height += 1n) {
        const block: any = await rpc('eth_getBlockByNumber', [hexOf(height), false]);
        for (const hash of block.transactions)
          undone.unshift(await rpc('eth_getRawTransactionByHash', [hash]));
      }
      await rpc('anvil_reorg', [depth, []]);
      if (payments === 'paid later')
        for (const raw of undone) await rpc('eth_sendRawTransaction', [raw]);
    },
    head: async () => BigInt((await rpc('eth_blockNumber')) as string),
    endpoint: (faults = {}) => Promise.resolve(withFaults(openRpc(fetch, { url }), faults)),
    async close() {
      await fetch.close();
      await new Promise<void>((resolve) => {
        child.once('exit', () => resolve());
        child.kill();
      });
    },
  };
}

/** Puts a token's contract at a given address, which a deployment could not choose. */
async function install(rpc: Rpc, address: string, decimals: number): Promise<void> {
  const { PlayUSDT, PlayToken } = playTokens.deployed_bytecode;
  await rpc('anvil_setCode', [address, address === usdt ? PlayUSDT : PlayToken]);
  await rpc('anvil_setStorageAt', [address, '0x2', wordOf(BigInt(decimals))]);
}

async function start(program: string, file: Chain): Promise<{ child: ChildProcess; url: string }> {
  const usual = '--host 127.0.0.1 --port 0 --no-mining --order fifo --slots-in-an-epoch 1';
  const child = spawn(program, `${usual} --number 96 --chain-id ${file.chain_id}`.split(' '), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const orphaned = () => child.kill('SIGKILL');
  process.once('exit', orphaned);
  child.once('exit', () => process.removeListener('exit', orphaned));
  let text = '';
  child.stdout.on('data', (chunk) => (text = (text + chunk).slice(-20_000)));
  const [, port] = await until('anvil listens', () => /Listening on 127\.0\.0\.1:(\d+)/.exec(text));
  return { child, url: `http://127.0.0.1:${port}` };
}
