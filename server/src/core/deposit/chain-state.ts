import { usualSeconds, type Chain } from './chain.ts';

/** The state of reading a chain, in one word. Pure. */

export const chainStates = [
  'stopped',
  'refused',
  'behind',
  'retrying',
  'starting',
  'read',
] as const;
/**
 * stopped: until an operator resumes it. refused: a setting is wrong. behind: deposits come late.
 * retrying: the newest read failed. starting: it was never read. read: all is well.
 */
export type ChainState = (typeof chainStates)[number];

export interface ReadFacts {
  stopped_why: string | null;
  refused_why: string | null;
  last_error: string | null;
  /** Age of the newest final block that was read; null: none was read. */
  lag_seconds: number | null;
  /** Time since the last read without an error; null: there was none. */
  unread_seconds: number | null;
}

/**
 * The usual time until a block is final, if the chain's file does not state it. The slowest chain
 * that we ship needs 18 minutes.
 */
const finalizedSeconds = 1_200;
/**
 * A chain is behind if it was not read for this long, or if its newest final block is older than
 * usual by this much. Failed reads are tried again after at most 7
 * minutes, so several have failed by then.
 */
const lateMaxSeconds = 900;

/** How far a chain was read, and read again. */
export interface ReadHeights {
  scanned_height: bigint | null;
  rescanned_height: bigint | null;
}

/** Blocks are read again after this time, to find deposits that the first read did not get. */
export const secondReadingAfterSeconds = 3_600;
/** The second reading is late beyond this lag. After a long pause it needs a while to catch up. */
const secondReadingLateSeconds = 3 * secondReadingAfterSeconds;

/** About how many seconds the second reading is behind the first; null before it has begun. */
export function secondReadingLag(heights: ReadHeights, { block_seconds }: Chain): number | null {
  const { scanned_height: scanned, rescanned_height: rescanned } = heights;
  if (scanned === null || rescanned === null) return null;
  return Number(scanned - rescanned) * block_seconds;
}

/** Whether the second reading is late, even if the first one goes on. */
export function isSecondReadingLate(heights: ReadHeights, chain: Chain): boolean {
  return (secondReadingLag(heights, chain) ?? 0) > secondReadingLateSeconds;
}

/** `chain`: null if no file describes it. */
export function chainState(facts: ReadFacts, chain: Chain | null): ChainState {
  const { lag_seconds: lag, unread_seconds: unread } = facts;
  if (facts.stopped_why !== null) return 'stopped';
  if (facts.refused_why !== null) return 'refused';
  // Before the first read no address is shown, so a failure is serious at once.
  if (unread === null) return facts.last_error === null ? 'starting' : 'behind';
  const usual = (chain && usualSeconds(chain)) ?? finalizedSeconds;
  if (unread > lateMaxSeconds || (lag ?? 0) > usual + lateMaxSeconds) return 'behind';
  return facts.last_error === null ? 'read' : 'retrying';
}
