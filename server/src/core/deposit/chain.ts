import type { Family } from './address.ts';

/** A blockchain on which USDT can be paid. */

export interface Token {
  symbol: string;
  /** The contract, as `address.ts` stores addresses. */
  address: string;
  decimals: number;
  /** False: its deposits are only noted. */
  credit: boolean;
}

export interface Chain {
  name: string;
  /** The name that customers read. */
  title: string;
  family: Family;
  chain_id: number;
  /** The usual time between two blocks. */
  block_seconds: number;
  /** `finalized`: the block that the endpoint calls so; else one with so many blocks on top. */
  finality: 'finalized' | { confirmations: number };
  /** The usual time until a block is `finalized`; null: not known. */
  final_seconds: number | null;
  /** The first block that is read; null: the newest one at the first start. */
  start_height: number | null;
  minimum_usd_micro: bigint;
  /** Pages to which the hash or the address is added; null: there is no explorer. */
  explorer: { tx: string; address: string } | null;
  tokens: Token[];
}

/** The tokens whose deposits are added to balances. */
export function creditedTokens({ tokens }: Pick<Chain, 'tokens'>): Token[] {
  return tokens.filter(({ credit }) => credit);
}

/** The usual time from a deposit's block to its credit; null: not known. */
export function usualSeconds({ finality, block_seconds, final_seconds }: Chain): number | null {
  if (finality === 'finalized') return final_seconds;
  return Math.ceil(finality.confirmations * block_seconds);
}

/** A page that shows the transaction; null: the chain has no explorer. */
export function transactionUrl({ explorer, family }: Chain, hash: string): string | null {
  // TRON's explorers know its hashes without 0x only.
  return explorer && explorer.tx + (family === 'tron' ? hash.slice(2) : hash);
}

/** The setting with the addresses of the endpoints of a chain. */
export function endpointVariable(name: string): string {
  return `FAREBOX_RPC_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The setting with the public key that a family's addresses are derived from. */
export function xpubVariable(family: Family): string {
  return `FAREBOX_XPUB_${family.toUpperCase()}`;
}
