import { endpointVariable, type Chain } from '../core/deposit/chain.ts';
import type { BlockRange, FinalTransfer, SeenTransfer } from '../core/deposit/transfer.ts';
import { higher, lower } from '../lib/bigints.ts';
import type { Rpc } from './rpc.ts';
import { checkTransfers } from './check-transfers.ts';
import { blocksMax, readNotedTransfers, readTransfersAround, type ChainEndpoint } from './noted.ts';
import { isSameTransfer, type WantedTransfer } from './receipts.ts';
import {
  demandBlock,
  demandOrder,
  readChainId,
  readDecimals,
  readFinal,
  readHead,
  type ChainBlock,
  type LeaveOut,
} from './scan.ts';
import { Witness } from './witness.ts';

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
  scanned: ChainBlock | null;
  /** Why a deposit was left for the next read; null: none was. */
  doubt: Error | null;
  /** Why the newest blocks could not be read; null: they were read, or not asked for. */
  unread: Error | null;
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
 *
 * `leaveOut`: the first endpoint was asked several times for something that it cannot give. A
 * deposit that it does not confirm is held now, and the reason is given for everything else that is
 * left out: the second reading of the blocks finds it. Null: the cursor stays before it.
 */
export async function readChain(
  chain: Chain,
  endpoints: ChainEndpoints,
  cursor: Cursor | null,
  load: LoadAddresses,
  leaveOut: LeaveOut | null = null,
): Promise<ChainReading> {
  const [{ rpc }, ...more] = endpoints;
  const holds = leaveOut !== null;
  // guard: replaced-block-stops
  const before = cursor?.hash ? await demandSame(rpc, cursor.height, cursor.hash) : null;
  const head = await readHead(rpc);
  const newest = await readFinal(rpc, chain, head);
  if (before && newest) demandOrder(before, newest);
  const from = cursor === null ? BigInt(chain.start_height ?? head) : cursor.height + 1n;
  const { most, isNear, to } = blocksFrom(from, newest?.height ?? null, head);
  // An address that is issued from now on cannot have been paid in a block that is final already.
  const addresses = await load();
  const question = { from, to, addresses, takesGarbled: holds, leaveOut, final: most };
  const around = await readTransfersAround(
    chain,
    endpoints[0],
    question,
    isNear,
    cursor?.seen ?? null,
  );
  const { found, skipped, unread, readable } = around;
  const others = more.map((each) => new Witness(chain, each.rpc));
  const isPaid = found.some(({ block_height }) => block_height <= readable);
  const target = isPaid
    ? higher(from - 1n, await readAgreedFinal(others, readable, newest))
    : readable;
  const scanned = target < from ? null : await blockAfter(rpc, target, before, newest);
  const isFinal = ({ block_height }: SeenTransfer) => block_height <= target;
  // guard: only-final-is-credited (off: found)
  const wanted = found.filter(isFinal);
  const seen = isNear ? found.filter((transfer) => !isFinal(transfer)) : null;
  const reading = { start: from, seen, skipped, scanned, head, unread };
  if (scanned === null) return { ...reading, final: [], doubt: null };
  const { final, upTo, doubt } = await checkTransfers(wanted, {
    first: new Witness(chain, rpc, newest),
    others,
    before,
    last: scanned,
    holds,
    most: checkedMax,
  });
  if (upTo === null) return { ...reading, final, doubt };
  return {
    ...reading,
    final,
    doubt,
    // Without a doubt, the next read goes on at once after the last block that was checked.
    seen: doubt ? seen : null,
    skipped: doubt ? { from: upTo + 1n, to: skipped?.to ?? target } : skipped,
    scanned: upTo < from ? null : await demandBlock(rpc, upTo),
  };
}

/**
 * The blocks of a read that begins at `from`: final ones up to `most`, all together up to `to`.
 * While far behind the newest final block, only final blocks are read.
 */
function blocksFrom(from: bigint, newest: bigint | null, head: bigint) {
  const read = from - 1n;
  const most = newest === null ? read : lower(newest, read + blocksMax);
  const isNear = newest === null || newest <= most;
  return { most, isNear, to: isNear ? higher(head, most) : most };
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
  const last = await demandBlock(asked.rpc, range.to);
  const question = {
    ...range,
    addresses: await load(),
    takesGarbled: true,
    leaveOut: null,
    final: range.to,
  };
  const found = await readNotedTransfers(chain, question, asked);
  const { final, failure } = await checkTransfers(found, {
    first: new Witness(chain, asked.rpc),
    others: others.map(({ rpc }) => new Witness(chain, rpc)),
    before: null,
    last,
    holds: true,
    most: Infinity,
  });
  if (failure) throw failure;
  return final;
}

/** Those of the given deposits that every endpoint knows by now, as the endpoints have them. */
export async function readConfirmed(
  chain: Chain,
  endpoints: ChainEndpoints,
  deposits: readonly Omit<WantedTransfer, 'rank'>[],
): Promise<FinalTransfer[]> {
  const witnesses = endpoints.map(({ rpc }) => new Witness(chain, rpc));
  const confirmed: FinalTransfer[] = [];
  for (const deposit of deposits) {
    const wanted = { ...deposit, rank: null };
    const [own, ...more] = await Promise.all(
      witnesses.map((each) => each.readReceivedOrNull(wanted)),
    );
    if (own && more.every((each) => isSameTransfer(own, each)))
      confirmed.push({ ...own, is_confirmed: true });
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
    const statedDecimals = await readDecimals(rpc, address);
    if (statedDecimals !== BigInt(decimals))
      throw new WrongSetting(
        `${symbol} has ${statedDecimals} decimals, but the chain file ${name} says ${decimals}. Correct decimals or address of that token.`,
      );
  }
}

/**
 * The newest block up to `most` that the other endpoints call final too. An endpoint that is away,
 * or far behind the first, is not waited for: the deposits are held instead.
 */
async function readAgreedFinal(
  others: Witness[],
  most: bigint,
  newest: ChainBlock | null,
): Promise<bigint> {
  const finals = await Promise.all(others.map((each) => each.readFinal().catch(() => null)));
  const oldest = (newest?.at.getTime() ?? 0) - waitedForMs;
  return finals.reduce<bigint>(
    (least, block) => (block && block.at.getTime() > oldest ? lower(least, block.height) : least),
    most,
  );
}

async function demandSame(rpc: Rpc, height: bigint, hash: string): Promise<ChainBlock> {
  const block = await demandBlock(rpc, height);
  if (block.hash !== hash)
    throw new ReplacedBlock(`block ${height} was ${hash} and is ${block.hash} now`);
  return block;
}

/** A final block whose time is not before that of its parent. */
async function blockAfter(
  rpc: Rpc,
  height: bigint,
  ...known: readonly (ChainBlock | null)[]
): Promise<ChainBlock> {
  const at = (wanted: bigint) =>
    known.find((each) => each?.height === wanted) ?? demandBlock(rpc, wanted);
  const block = await at(height);
  if (height > 0n) demandOrder(await at(height - 1n), block);
  return block;
}
