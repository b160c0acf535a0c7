import { playXpub, readXpub, showAddress } from '../core/deposit/address.ts';
import type { Chain } from '../core/deposit/chain.ts';
import type { Chains } from './chains.ts';
import { QuestionLimits } from './limits.ts';
import { PlayChain } from './play.ts';

/** The chain of the trial: a block a second, and play money for everybody who asks. */

const confirmations = 3;
/** When block 0 was made. */
const genesis = Date.UTC(2026, 0, 1);

const chain: Chain = {
  name: 'play',
  title: 'Play chain',
  family: 'evm',
  chain_id: 1_000_000_007,
  block_seconds: 1,
  finality: { confirmations },
  final_seconds: null,
  start_height: null,
  minimum_usd_micro: 1_000_000n,
  explorer: null,
  tokens: [
    {
      symbol: 'USDT',
      address: `0x${'fb'.repeat(20)}`,
      decimals: 6,
      credit: true,
    },
  ],
};

export function openPlayChain(): Chains & { play: PlayChain } {
  const read = readXpub(playXpub, 'evm');
  if ('problem' in read) throw new Error(read.problem);
  const play = new PlayChain({
    chain,
    head: () => BigInt(Math.floor((Date.now() - genesis) / 1000)),
    timeOf: (height) => new Date(genesis + Number(height) * 1000),
  });
  const endpoint = { rpc: play.rpc, limits: new QuestionLimits() };
  const show = (address: string) => showAddress(address, 'evm');
  const key = { family: 'evm' as const, xpub: playXpub, addressAt: read.addressAt };
  return { live: [{ chain, endpoints: [endpoint], key, show }], play, hangUp: () => {} };
}
