import type { Family } from './address.ts';

/** A blockchain on which USDT can be paid. */

export interface Token {
  symbol: string;
  /** The contract, as `address.ts` stores addresses. */
  address: string;
  decimals: number;
  /** False: its deposits are recorded but not credited. */
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
  /**
   * A block is final once the endpoint calls it `finalized`, or once it has this many blocks on
   * top.
   */
  finality: 'finalized' | { confirmations: number };
  /** The usual time until a block is `finalized`; null: not known. */
  final_seconds: number | null;
  /** The first block that is read; null: the newest one at the first start. */
  start_height: number | null;
  minimum_usd_micro: bigint;
  /** URLs up to the hash or address that is appended; null: the chain has no explorer. */
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

/** A chain. `show` writes one of its addresses as people write it. */
export interface ShownChain {
  chain: Chain;
  show: (address: string) => string;
}

/** The row as explorers of its chain write it; unchanged if `chains` lacks the chain. */
export function asExplorersWrite<Row extends { chain: string }>(
  row: Row,
  chains: readonly ShownChain[],
): Row {
  const found = chains.find(({ chain }) => chain.name === row.chain);
  if (!found) return row;
  const { chain, show } = found;
  const shown = Object.entries(row).map(([name, value]) => {
    if (typeof value !== 'string') return [name, value];
    if (name === 'tx_hash') return [name, showHash(value, chain)];
    return [name, addressFields.has(name) ? show(value) : value];
  });
  return Object.fromEntries(shown) as Row;
}

/**
 * The symbol of a token. If `chains` lacks the chain or the token, its contract as explorers write
 * it.
 */
export function shownToken(
  { chain, token }: { chain: string; token: string },
  chains: readonly ShownChain[],
): string {
  const found = chains.find((each) => each.chain.name === chain)?.chain;
  const known = found?.tokens.find(({ address }) => address === token);
  return known?.symbol ?? asExplorersWrite({ chain, token }, chains).token;
}

const addressFields = new Set(['token', 'from_address', 'to_address']);

/** TRON's explorers and wallets write hashes without `0x`. */
function showHash(hash: string, { family }: Chain): string {
  return family === 'tron' ? hash.slice(2) : hash;
}

/** The stored form of a transaction's hash, which was typed with or without `0x`. */
export function parseHash(text: string): string {
  return `0x${text.trim().toLowerCase().replace(/^0x/, '')}`;
}

/** A page that shows the transaction; null: the chain has no explorer. */
export function transactionUrl(chain: Chain, hash: string): string | null {
  return chain.explorer && chain.explorer.tx + showHash(hash, chain);
}

/** The names of the settings of chains begin like this. */
export const chainVariables = 'FAREBOX_RPC_';

/** The name of the setting with the addresses of a chain's endpoints. */
export function endpointVariable(name: string): string {
  return `${chainVariables}${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The name of the setting with the public key that a family's addresses are derived from. */
export function xpubVariable(family: Family): string {
  return `FAREBOX_XPUB_${family.toUpperCase()}`;
}
