import {
  readXpub,
  showAddress,
  type DepositKey,
  type Family,
} from '../../src/core/deposit/address.ts';
import type { Chain } from '../../src/core/deposit/chain.ts';

import type { FinalTransfer } from '../../src/core/deposit/transfer.ts';
import type { ChainRead } from '../../src/operations/deposits/record-read.ts';
import vectors from '../fixtures/address-vectors.json' with { type: 'json' };

export const usdt = `0x${'a1'.repeat(20)}`;
export const usdc = `0x${'a2'.repeat(20)}`;

export const chain: Chain = {
  name: 'play',
  title: 'Play chain',
  family: 'evm',
  chain_id: 7,
  block_seconds: 1,
  finality: { confirmations: 3 },
  final_seconds: null,
  start_height: 100,
  minimum_usd_micro: 1_000_000n,
  explorer: null,
  tokens: [
    { symbol: 'USDT', address: usdt, decimals: 18, credit: true },
    { symbol: 'USDC', address: usdc, decimals: 6, credit: false },
  ],
};

export const show = (address: string) => showAddress(address, 'evm');

export function keyOf(family: Family, set = 0): DepositKey {
  const { xpub_evm, xpub_tron } = vectors.sets[set]!;
  const xpub = family === 'evm' ? xpub_evm : xpub_tron;
  const read = readXpub(xpub, family);
  if ('problem' in read) throw new Error(read.problem);
  return { family, xpub, addressAt: read.addressAt };
}

export const hashOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;

/** A transfer of 5 USDT in block `100 + n`. */
export function transferTo(
  to_address: string,
  n: number,
  change: Partial<FinalTransfer> = {},
): FinalTransfer {
  return {
    tx_hash: hashOf(n),
    log_position: 0,
    block_log_index: 0,
    block_height: BigInt(100 + n),
    block_hash: hashOf(1_000 + n),
    block_at: new Date('2026-01-01T00:00:00Z'),
    token: usdt,
    from_address: `0x${'f0'.repeat(20)}`,
    to_address,
    units: 5n * 10n ** 18n,
    is_confirmed: true,
    ...change,
  };
}

/** A read that got as far as this height. */
export function readTo(
  height: number,
  final: FinalTransfer[],
  seen: ChainRead['seen'] = [],
): ChainRead {
  return {
    final,
    seen,
    skipped: null,
    state: {
      start_height: 100n,
      scanned_height: BigInt(height),
      scanned_hash: hashOf(1_000 + height - 100),
      scanned_block_at: new Date('2026-01-01T00:00:00Z'),
      rescanned_height: 99n,
      rescan: null,
      last_error: null,
      head_height: BigInt(height + 3),
      wake_seconds: 15,
    },
  };
}
