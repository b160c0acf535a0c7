import { endpointVariable, type Chain } from '../core/deposit/chain.ts';
import type { FinalTransfer, SeenTransfer } from '../core/deposit/transfer.ts';
import type { QuestionLimits } from './limits.ts';
import type { Rpc } from './rpc.ts';
import {
  BadAnswer,
  confirmTransfer,
  demandBlock,
  readChainId,
  readDecimals,
  readFinal,
  readHead,
  readTransfers,
  type Block,
} from './scan.ts';

/** One endpoint of a chain that is read. */
export interface ChainEndpoint {
  rpc: Rpc;
  limits: QuestionLimits;
}

/** The final block up to which the chain was read. */
export interface Cursor {
  height: bigint;
  /** Null: no block was final yet. */
  hash: string | null;
}

export interface ChainReading {
  /** The first block of this read. */
  start: bigint;
  final: FinalTransfer[];
  seen: SeenTransfer[] | null;
  /** The newest final block that was read. */
  scanned: Block | null;
  head: bigint;
}

/** A setting of the chain is wrong. The message says what to do. */
export class WrongSetting extends Error {
  override readonly name = 'WrongSetting';
}

/** A final block was replaced by another. Reading must stop until an operator has looked. */
export class ReplacedBlock extends Error {
  override readonly name = 'ReplacedBlock';
}

/** Maximum number of blocks of one read, so that what it found is written soon. */
const blocksMax = 2_000n;

/** The endpoints of a chain. The first one reads, and all have to know a final transfer. */
export type ChainEndpoints = readonly [ChainEndpoint, ...ChainEndpoint[]];

/** Loads the addresses to look for. */
export type LoadAddresses = () => Promise<readonly string[]>;

/**
 * Reads a chain from the cursor to its newest final block, and what is above it. `cursor: null`:
 * nothing was read yet, and reading begins at the chain's start height or its newest block.
 */
export async function readChain(
  chain: Chain,
  endpoints: ChainEndpoints,
  cursor: Cursor | null,
  load: LoadAddresses,
): Promise<ChainReading> {
  const [{ rpc, limits }] = endpoints;
  // guard: replaced-block-stops
  if (cursor !== null && cursor.hash !== null) await demandSame(rpc, cursor.height, cursor.hash);
  const head = await readHead(rpc);
  const newest = await readFinal(rpc, chain, head);
  const from = cursor === null ? BigInt(chain.start_height ?? head) : cursor.height + 1n;
  const read = from - 1n;
  const target = newest === null ? read : lower(newest.height, read + blocksMax);
  // While far behind, only final blocks are read.
  const isNear = newest === null || newest.height <= target;
  const to = isNear ? higher(head, target) : target;
  // An address that is issued from now on cannot have been paid in a block that is final already.
  const addresses = await load();
  const tokens = chain.tokens.map(({ address }) => address);
  const found = to < from ? [] : await readTransfers(rpc, { tokens, from, to }, addresses, limits);
  const scanned = target < from ? null : await demandBlock(rpc, target);
  const isFinal = ({ block_height }: SeenTransfer) => block_height <= target;
  const final = await checkedOf(found.filter(isFinal), endpoints);
  const seen = isNear ? found.filter((transfer) => !isFinal(transfer)) : null;
  return { start: from, final, seen, scanned, head };
}

/**
 * Reads final blocks once more, long after they were read first, because an endpoint may have left
 * a log out. Where there are two, the second one is asked.
 */
export async function rescanChain(
  chain: Chain,
  endpoints: ChainEndpoints,
  range: { from: bigint; to: bigint },
  load: LoadAddresses,
): Promise<FinalTransfer[]> {
  const [asked = endpoints[0], ...others] = endpoints.toReversed();
  const tokens = chain.tokens.map(({ address }) => address);
  await demandBlock(asked.rpc, range.to);
  const found = await readTransfers(asked.rpc, { tokens, ...range }, await load(), asked.limits);
  return checkedOf(found, [asked, ...others]);
}

/** Whether every endpoint knows this deposit by now. One that does not answer does not know it. */
export async function isConfirmed(
  endpoints: ChainEndpoints,
  deposit: Parameters<typeof confirmTransfer>[1],
): Promise<boolean> {
  const places = await placesOf(endpoints, deposit);
  return places.every((place) => place !== null);
}

/** Throws unless the endpoint and the chain file tell of one chain and one form of its tokens. */
export async function demandSetting(chain: Chain, { rpc }: ChainEndpoint): Promise<void> {
  const { name, chain_id, tokens } = chain;
  const found = await readChainId(rpc);
  if (found !== BigInt(chain_id))
    throw new WrongSetting(
      `The endpoint is of the chain ${found}, but the chain file ${name} says ${chain_id}. Set ${endpointVariable(name)} to an endpoint of that chain.`,
    );
  for (const { symbol, address, decimals } of tokens) {
    const told = await readDecimals(rpc, address);
    if (told !== BigInt(decimals))
      throw new WrongSetting(
        `${symbol} has ${told} decimals, but the chain file ${name} says ${decimals}. Correct decimals or address of that token.`,
      );
  }
}

/** Adds to each transfer what the endpoints know of it. The first one has found them. */
async function checkedOf(
  found: readonly SeenTransfer[],
  endpoints: ChainEndpoints,
): Promise<FinalTransfer[]> {
  const blocks = new Map<bigint, Block>();
  const checked: FinalTransfer[] = [];
  for (const transfer of found) {
    const { block_height: height, tx_hash } = transfer;
    const block = blocks.get(height) ?? (await demandBlock(endpoints[0].rpc, height));
    blocks.set(height, block);
    const [log_position = null, ...others] = await placesOf(endpoints, transfer);
    if (log_position === null)
      throw new BadAnswer(`the endpoint does not confirm its own transfer ${tx_hash}`);
    // guard: both-endpoints-asked (off: false)
    const isDoubted = others.some((place) => place !== log_position);
    checked.push({ ...transfer, log_position, block_at: block.at, is_confirmed: !isDoubted });
  }
  return checked;
}

function placesOf(
  endpoints: ChainEndpoints,
  transfer: Parameters<typeof confirmTransfer>[1],
): Promise<(number | null)[]> {
  return Promise.all(endpoints.map(({ rpc }) => confirmTransfer(rpc, transfer).catch(() => null)));
}

async function demandSame(rpc: Rpc, height: bigint, hash: string): Promise<void> {
  const block = await demandBlock(rpc, height);
  if (block.hash !== hash)
    throw new ReplacedBlock(`block ${height} was ${hash} and is ${block.hash} now`);
}

function lower(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function higher(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
