import type { Chain } from '../core/deposit/chain.ts';
import { isTrifle } from '../core/deposit/deposit.ts';
import type { BlockRange, SeenTransfer } from '../core/deposit/transfer.ts';
import { higher, lower } from '../lib/bigints.ts';
import type { QuestionLimits } from './limits.ts';
import type { Rpc } from './rpc.ts';
import { readTransfers, LogsUnreadable, type Question } from './scan.ts';

/** Finds the transfers that are noted, in as many of the blocks as an endpoint can give. */

export interface ChainEndpoint {
  rpc: Rpc;
  limits: QuestionLimits;
}

/** Maximum number of blocks of one read, so that what it found is written soon. */
export const blocksMax = 2_000n;
/** Blocks above the final one that are read each time, because the chain may replace them. */
const replaceableMax = 64n;

/** A question for the transfers that are noted, of all tokens of a chain. */
export type NotedQuestion = Omit<Question, 'tokens' | 'isNoted'>;

interface NotedTransfers {
  found: SeenTransfer[];
  /** Blocks that were left out; null: none. */
  skipped: BlockRange | null;
  /** The newest final block that was read. */
  readable: bigint;
  unread: Error | null;
}

/**
 * The transfers in the blocks of the question. Leaves out blocks above the final one if they are
 * many, and the newest blocks if they cannot be read: those before them are not kept back. `seen`:
 * the block up to which they were read before; null: not known.
 */
export async function readTransfersAround(
  chain: Chain,
  endpoint: ChainEndpoint,
  question: NotedQuestion,
  isNear: boolean,
  seen: bigint | null,
): Promise<NotedTransfers> {
  const { from, to, final } = question;
  const ask = (part: Partial<BlockRange>) =>
    readNotedTransfers(chain, { ...question, ...part }, endpoint);
  const left = isNear ? skippedBlocks(endpoint, question, seen) : null;
  const forget = endpoint.limits.remember();
  try {
    const found = await ask(left ? { to: left.from - 1n } : {});
    if (left) found.push(...(await ask({ from: left.to + 1n })));
    return { found, skipped: left, readable: final, unread: null };
  } catch (error) {
    if (!(error instanceof LogsUnreadable)) throw error;
    // The refusal was not about the size of the questions.
    forget();
    const readable = error.height > from ? lower(error.height - 1n, final) : final;
    const found = from > readable ? [] : await ask({ to: readable });
    return { found, skipped: { from: readable + 1n, to }, readable, unread: error };
  }
}

/**
 * The blocks above the final one that are left out: finality may lag by thousands of blocks, whose
 * transfers are only shown, not yet credited. Null if one question has room for all blocks.
 */
function skippedBlocks(
  { limits }: ChainEndpoint,
  { from, to, final }: NotedQuestion,
  seen: bigint | null,
): BlockRange | null {
  if (to - from < BigInt(limits.blocks)) return null;
  const known = seen === null ? final : lower(seen, to) - replaceableMax;
  const last = higher(known, to - blocksMax);
  return last > final ? { from: final + 1n, to: last } : null;
}

/** The transfers that are asked for, without those that are too small to be stored. */
export function readNotedTransfers(
  chain: Chain,
  question: NotedQuestion,
  { rpc, limits }: ChainEndpoint,
): Promise<SeenTransfer[]> {
  const tokens = new Map(chain.tokens.map((token) => [token.address, token]));
  const isNoted = ({ token, units }: SeenTransfer) =>
    !isTrifle(units, tokens.get(token)!, chain.minimum_usd_micro);
  return readTransfers(rpc, { ...question, tokens: [...tokens.keys()], isNoted }, limits);
}
