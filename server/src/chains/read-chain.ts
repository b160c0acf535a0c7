import { endpointVariable, type Chain } from '../core/deposit/chain.ts';
import { isTrifle } from '../core/deposit/deposit.ts';
import type { BlockRange, FinalTransfer, SeenTransfer } from '../core/deposit/transfer.ts';
import type { QuestionLimits } from './limits.ts';
import type { Rpc } from './rpc.ts';
import {
  demandBlock,
  demandOrder,
  lower,
  readChainId,
  readDecimals,
  readFinal,
  readHead,
  readTransfers,
  type Block,
} from './scan.ts';
import { BadAnswer } from './wire.ts';
import { Witness, type KnownTransfer } from './witness.ts';

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
  /** The block up to which transfers that are not final were read; null: not known. */
  seen: bigint | null;
}

export interface ChainReading {
  /** The first block of this read. */
  start: bigint;
  final: FinalTransfer[];
  /** Transfers above the final block. Null: this read did not get to the newest block. */
  seen: SeenTransfer[] | null;
  /** Blocks above the final one that were not read; what is known of them stays. Null: none. */
  skipped: BlockRange | null;
  /** The newest final block up to which all was read. */
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
/** Blocks above the final one that are read each time, because the chain may replace them. */
const replaceableMax = 64n;
/**
 * Once a read has checked this many transfers, it ends with the current block, because each check
 * costs several calls.
 */
const checkedMax = 200;
/** How much later a second endpoint may call blocks final: a little over two epochs of Ethereum. */
const waitedForMs = 15 * 60_000;

/** The endpoints of a chain. The first one is read, and all must confirm a final transfer. */
export type ChainEndpoints = readonly [ChainEndpoint, ...ChainEndpoint[]];

/** Loads the addresses to look for. */
export type LoadAddresses = () => Promise<readonly string[]>;

/**
 * Reads a chain from the cursor to its newest final block, and the blocks above. If `cursor` is
 * null, nothing was read yet, and reading begins at the chain's start height or newest block.
 * Throws `ReplacedBlock` if the block of the cursor is another one now.
 */
export async function readChain(
  chain: Chain,
  endpoints: ChainEndpoints,
  cursor: Cursor | null,
  load: LoadAddresses,
): Promise<ChainReading> {
  const [{ rpc }, ...more] = endpoints;
  // guard: replaced-block-stops
  const before = cursor?.hash ? await demandSame(rpc, cursor.height, cursor.hash) : null;
  const head = await readHead(rpc);
  const newest = await readFinal(rpc, chain, head);
  if (before && newest) demandOrder(before, newest);
  const from = cursor === null ? BigInt(chain.start_height ?? head) : cursor.height + 1n;
  const read = from - 1n;
  const most = newest === null ? read : lower(newest.height, read + blocksMax);
  // While far behind, only final blocks are read.
  const isNear = newest === null || newest.height <= most;
  const to = isNear ? higher(head, most) : most;
  // An address that is issued from now on cannot have been paid in a block that is final already.
  const addresses = await load();
  const skipped = isNear
    ? skippedBlocks(endpoints[0], { from, to }, most, cursor?.seen ?? null)
    : null;
  const ranges = skipped
    ? [
        { from, to: skipped.from - 1n },
        { from: skipped.to + 1n, to },
      ]
    : [{ from, to }];
  const found: SeenTransfer[] = [];
  for (const range of ranges) found.push(...(await noted(chain, range, addresses, endpoints[0])));
  const others = more.map((each) => new Witness(chain, each.rpc));
  const isPaid = found.some(({ block_height }) => block_height <= most);
  const target = isPaid ? higher(read, await agreedFinal(others, most, newest)) : most;
  const scanned = target < from ? null : await blockAfter(rpc, target, before, newest);
  const isFinal = ({ block_height }: SeenTransfer) => block_height <= target;
  // guard: only-final-is-credited (off: found)
  const wanted = found.filter(isFinal);
  const final = await checkedBlocks(wanted, new Witness(chain, rpc, newest), others);
  // The next read goes on after the last block that was checked.
  if (final.length < wanted.length)
    return { start: from, final, seen: null, skipped, scanned: blockOf(final.at(-1)!), head };
  const seen = isNear ? found.filter((transfer) => !isFinal(transfer)) : null;
  return { start: from, final, seen, skipped, scanned, head };
}

/**
 * The blocks above the final one that are left out: finality may lag by thousands of blocks, whose
 * transfers are only shown, not yet credited. Null if one question has room for all blocks.
 */
function skippedBlocks(
  { limits }: ChainEndpoint,
  { from, to }: BlockRange,
  final: bigint,
  seen: bigint | null,
): BlockRange | null {
  if (to - from < BigInt(limits.blocks)) return null;
  const known = seen === null ? final : lower(seen, to) - replaceableMax;
  const last = higher(known, to - blocksMax);
  return last > final ? { from: final + 1n, to: last } : null;
}

/**
 * Reads final blocks once more, long after the first reading, because an endpoint may have left a
 * log out. If there are two endpoints, the second one is asked.
 */
export async function readAgain(
  chain: Chain,
  endpoints: ChainEndpoints,
  range: BlockRange,
  load: LoadAddresses,
): Promise<FinalTransfer[]> {
  const [asked = endpoints[0], ...others] = endpoints.toReversed();
  await demandBlock(asked.rpc, range.to);
  const found = await noted(chain, range, await load(), asked);
  const witnesses = others.map(({ rpc }) => new Witness(chain, rpc));
  return checkedOf(found, new Witness(chain, asked.rpc), witnesses);
}

/** The given deposits that every endpoint knows by now. */
export async function confirmedOf<Deposit extends KnownTransfer>(
  chain: Chain,
  endpoints: ChainEndpoints,
  deposits: readonly Deposit[],
): Promise<Deposit[]> {
  const witnesses = endpoints.map(({ rpc }) => new Witness(chain, rpc));
  const confirmed: Deposit[] = [];
  for (const deposit of deposits) {
    const places = await Promise.all(witnesses.map((each) => each.placeOrNull(deposit)));
    if (places.every((place) => place !== null)) confirmed.push(deposit);
  }
  return confirmed;
}

/** Throws `WrongSetting` if the endpoint's chain id or its tokens' decimals are not the file's. */
export async function demandSetting(
  chain: Chain,
  { rpc }: ChainEndpoint,
  which: 'first' | 'second' = 'first',
): Promise<void> {
  const { name, chain_id, tokens } = chain;
  const found = await readChainId(rpc);
  if (found !== BigInt(chain_id))
    throw new WrongSetting(
      `The ${which} endpoint is of the chain ${found}, but the chain file ${name} says ${chain_id}. Set ${endpointVariable(name)} to endpoints of the chain ${chain_id}.`,
    );
  for (const { symbol, address, decimals } of tokens) {
    const told = await readDecimals(rpc, address);
    if (told !== BigInt(decimals))
      throw new WrongSetting(
        `${symbol} has ${told} decimals, but the chain file ${name} says ${decimals}. Correct decimals or address of that token.`,
      );
  }
}

/** The transfers in a range of blocks, without those that are too small to be stored. */
function noted(
  chain: Chain,
  { from, to }: BlockRange,
  addresses: readonly string[],
  { rpc, limits }: ChainEndpoint,
): Promise<SeenTransfer[]> {
  const tokens = new Map(chain.tokens.map((token) => [token.address, token]));
  const isNoted = ({ token, units }: SeenTransfer) =>
    !isTrifle(units, tokens.get(token)!, chain.minimum_usd_micro);
  const range = { tokens: [...tokens.keys()], from, to, isNoted };
  return readTransfers(rpc, range, addresses, limits);
}

/**
 * The newest block up to `most` that the other endpoints call final too. An endpoint that is away,
 * or far behind the first, is not waited for: the deposits are held instead.
 */
async function agreedFinal(others: Witness[], most: bigint, newest: Block | null): Promise<bigint> {
  const finals = await Promise.all(others.map((each) => each.final().catch(() => null)));
  const oldest = (newest?.at.getTime() ?? 0) - waitedForMs;
  return finals.reduce<bigint>(
    (least, block) => (block && block.at.getTime() > oldest ? lower(least, block.height) : least),
    most,
  );
}

/**
 * Like `checkedOf`, block by block. Ends early after `checkedMax` transfers, or if the endpoint
 * fails after the first block: the checked transfers are written, and the next read checks the
 * rest.
 */
async function checkedBlocks(
  found: readonly SeenTransfer[],
  first: Witness,
  others: readonly Witness[],
): Promise<FinalTransfer[]> {
  const checked: FinalTransfer[] = [];
  for (const transfers of Map.groupBy(found, ({ block_height }) => block_height).values()) {
    if (checked.length >= checkedMax) break;
    try {
      checked.push(...(await checkedOf(transfers, first, others)));
    } catch (error) {
      if (checked.length === 0) throw error;
      break;
    }
  }
  return checked;
}

function blockOf({ block_height, block_hash, block_at }: FinalTransfer): Block {
  return { height: block_height, hash: block_hash, at: block_at };
}

/**
 * Adds to each transfer its log's place, its block's time, and whether every endpoint confirms it.
 * Throws if `first`, the endpoint that has found the transfers, does not confirm one.
 */
async function checkedOf(
  found: readonly SeenTransfer[],
  first: Witness,
  others: readonly Witness[],
): Promise<FinalTransfer[]> {
  const checked: FinalTransfer[] = [];
  for (const transfer of found) {
    const [log_position, ...places] = await Promise.all([
      first.place(transfer),
      ...others.map((each) => each.placeOrNull(transfer)),
    ]);
    if (log_position === null)
      throw new BadAnswer(
        `the endpoint has found the transfer ${transfer.tx_hash}, but does not confirm it`,
      );
    const { at } = await demandBlock(first.call, transfer.block_height);
    // guard: both-endpoints-asked (off: false)
    const isDoubted = places.some((place) => place !== log_position);
    checked.push({ ...transfer, log_position, block_at: at, is_confirmed: !isDoubted });
  }
  return checked;
}

async function demandSame(rpc: Rpc, height: bigint, hash: string): Promise<Block> {
  const block = await demandBlock(rpc, height);
  if (block.hash !== hash)
    throw new ReplacedBlock(`block ${height} was ${hash} and is ${block.hash} now`);
  return block;
}

/** A final block whose time is not before that of its parent. */
async function blockAfter(
  rpc: Rpc,
  height: bigint,
  ...known: readonly (Block | null)[]
): Promise<Block> {
  const at = (wanted: bigint) =>
    known.find((each) => each?.height === wanted) ?? demandBlock(rpc, wanted);
  const block = await at(height);
  if (height > 0n) demandOrder(await at(height - 1n), block);
  return block;
}

function higher(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
