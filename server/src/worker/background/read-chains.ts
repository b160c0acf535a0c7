import type { Logger } from 'pino';
import type { LiveChain } from '../../chains/chains.ts';
import type { ChainEndpoint } from '../../chains/noted.ts';
import {
  readConfirmed,
  demandSetting,
  readChain,
  ReplacedBlock,
  readAgain,
  WrongSetting,
  type ChainEndpoints,
  type ChainReading,
  type Cursor,
} from '../../chains/read-chain.ts';
import { RpcError } from '../../chains/rpc.ts';
import type { LeaveOut } from '../../chains/scan.ts';
import { lower } from '../../lib/bigints.ts';
import { asExplorersWrite, type Chain } from '../../core/deposit/chain.ts';
import { secondReadingAfterSeconds } from '../../core/deposit/chain-state.ts';
import type { BlockRange, FinalTransfer } from '../../core/deposit/transfer.ts';
import * as addresses from '../../db/deposits/addresses.ts';
import * as chainDeposits from '../../db/deposits/chain-deposits.ts';
import * as chains from '../../db/deposits/chains.ts';
import { redact } from '../../lib/log.ts';
import type { LogThrottle } from '../../lib/log-throttle.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { messageOf } from '../../lib/unknown.ts';
import { recordApart } from '../../operations/deposits/record-apart.ts';
import type { ChainRead, CreditedDeposit } from '../../operations/deposits/record-read.ts';
import { noteFailedRead } from '../../operations/operator-events.ts';

/** Reads the blockchains that are due: asks their endpoints, then writes what was found. */

export interface ChainDeps {
  db: Database;
  log: Logger;
  chains: readonly LiveChain[];
  /** Usual time between two reads of a chain. */
  chainSeconds: number;
  /** Deposits above this amount wait for an operator; null: none waits. */
  reviewUsdMicro: bigint | null;
  /** Endpoints that were found to fit the files of their chains. */
  checked: Set<ChainEndpoint>;
  /** For each chain, the block up to which this process has read blocks that are not final. */
  seen: Map<string, bigint>;
  /** Thins out the log of failures that do not end a read: one line a minute per chain and kind. */
  failures: LogThrottle;
  /** Notifies open pages of deposits that were seen or credited. */
  onDeposits: () => void;
  /** Counts a read that failed. */
  noteFailed: (chain: string) => void;
  /** Counts a deposit that was credited. */
  noteCredited: (chain: string, amount_usd_micro: bigint) => void;
  /** False: nothing is read, for example on a restored copy. */
  mayWork: () => boolean;
  /** True once the process is stopping. */
  isStopping: () => boolean;
}

/** After this time without a renewal, the process that reads has died. */
const leaseSeconds = 60;
/** Time between two reads while a deposit is on its way, or somebody looks at an address. */
const soonSeconds = 5;
const failureMaxSeconds = 300;
/**
 * After so many reads in succession that failed, a deposit, a log or a block that the first
 * endpoint cannot give no longer keeps the others waiting.
 */
const doubtedMax = 2;
/** Blocks are read again together once those that are due span this many seconds. */
const secondReadingEverySeconds = 600;
const readAgainBlocksMax = 2_000;
/** Maximum number of unconfirmed deposits that one read asks for again. */
const unconfirmedMax = 20;

/** Begins to read each chain that is due. Returns one promise per chain; each may reject. */
export async function beginDueReads(deps: ChainDeps): Promise<Promise<void>[]> {
  const live = new Map(deps.chains.map((each) => [each.chain.name, each]));
  const due = await chains.claimDue(deps.db, [...live.keys()], leaseSeconds);
  return due.map((claim) => readOn(claim, live.get(claim.name)!, deps));
}

/** Reads a chain again at once as long as it is behind. */
async function readOn(claim: chains.ChainClaim, live: LiveChain, deps: ChainDeps): Promise<void> {
  let next: chains.ChainClaim | undefined = claim;
  while (next && (await readOne(next, live, deps)) && deps.mayWork())
    [next] = await chains.claimDue(deps.db, [claim.name], leaseSeconds);
}

/** Reads a chain once. True: the chain is still behind. */
async function readOne(
  claim: chains.ChainClaim,
  live: LiveChain,
  deps: ChainDeps,
): Promise<boolean> {
  const { db } = deps;
  let renewal = Promise.resolve();
  const lease = setInterval(() => {
    renewal = chains.renew(db, claim, leaseSeconds).catch(() => {});
  }, leaseSeconds * 300);
  try {
    const read = await ask(claim, live, deps);
    // A renewal that comes after the record would overwrite the time of the next read.
    clearInterval(lease);
    await renewal;
    const isRecorded = await record(read, claim, live, deps);
    return isRecorded && read.state.wake_seconds === 0;
  } catch (error) {
    await note(error, claim, deps);
    return false;
  } finally {
    clearInterval(lease);
  }
}

/** Writes what was read. False: a newer attempt has begun, and nothing was written. */
async function record(
  read: ChainRead,
  claim: chains.ChainClaim,
  live: LiveChain,
  deps: ChainDeps,
): Promise<boolean> {
  const { db, log, reviewUsdMicro } = deps;
  const { name: chain } = live.chain;
  const tell = (credited: CreditedDeposit) => {
    const { id: deposit_id, account_id, amount_usd_micro } = credited;
    const { tx_hash } = asExplorersWrite(credited, [live]);
    deps.noteCredited(chain, amount_usd_micro);
    log.info(
      { chain, deposit_id, tx_hash, account_id, amount_usd_micro },
      'a deposit was credited',
    );
  };
  const isRecorded = await recordApart(
    db,
    live,
    claim.attempt,
    read,
    reviewUsdMicro,
    leaveOutOf(claim, deps),
    (credited) => {
      credited.forEach(tell);
      if (credited.length > 0) deps.onDeposits();
    },
  );
  const { head_height: head } = read.state;
  if (isRecorded && read.seen !== null && read.skipped?.to !== head) deps.seen.set(chain, head);
  if (isRecorded && read.seen?.length) deps.onDeposits();
  return isRecorded;
}

/**
 * Asks the endpoints, and returns what the caller has to record. New deposits are recorded here
 * already, before old blocks are read again.
 */
async function ask(claim: chains.ChainClaim, live: LiveChain, deps: ChainDeps): Promise<ChainRead> {
  const { chain, key } = live;
  await demandName(claim, chain, deps.db);
  const endpoints = await checkedEndpoints(live, deps);
  const load = () => addresses.listWatched(deps.db, key);
  const readOnce = (blocks: BlockRange) => readAgain(chain, endpoints, blocks, load);
  const cursor = cursorOf(claim, deps);
  const reading = await readChain(chain, endpoints, cursor, load, leaveOutOf(claim, deps));
  if (reading.doubt) noteDoubt(reading.doubt, claim, deps);
  if (reading.unread) noteUnread(reading.unread, claim, deps);
  const read = readOf(reading, claim);
  const isWritten = reading.final.length > 0 || Boolean(reading.seen?.length);
  if (isWritten) await record(read, claim, live, deps);
  const second = dueSecondReading(chain, claim, reading);
  // Blocks that cannot be read again now stay due.
  const failed = (error: unknown) => noteSecond(error, chain.name, deps);
  const again = second && (await readOnce(second).catch(failed));
  const rescan = await rescanWanted(claim, readOnce, deps);
  const confirmed = await newlyConfirmed(chain, endpoints, deps);
  const goesOn = rescan.left !== null && rescan.error === null && !reading.doubt;
  return {
    final: [...read.final, ...(again ?? []), ...rescan.found, ...confirmed],
    seen: isWritten ? null : read.seen,
    skipped: read.skipped,
    state: {
      ...read.state,
      rescanned_height: (again && second?.to) ?? read.state.rescanned_height,
      rescan: rescan.left,
      last_error: read.state.last_error ?? rescan.error,
      wake_seconds: goesOn ? 0 : await wakeSeconds(chain, reading, claim, deps),
    },
  };
}

/** The final block up to which the chain was read; null: it was not read yet. */
function cursorOf(claim: chains.ChainClaim, { seen }: ChainDeps): Cursor | null {
  const { name, scanned_height: height, scanned_hash: hash } = claim;
  return height === null ? null : { height, hash, seen: seen.get(name) ?? null };
}

/** The findings of a first reading. The attempt goes on, so it keeps its lease. */
function readOf(reading: ChainReading, claim: chains.ChainClaim): ChainRead {
  const { start, final, seen, skipped, scanned, doubt, head } = reading;
  const { rescan_from: from, rescan_to: to } = claim;
  const state = {
    start_height: claim.start_height ?? start,
    scanned_height: scanned?.height ?? start - 1n,
    scanned_hash: scanned?.hash ?? claim.scanned_hash,
    scanned_block_at: scanned?.at ?? null,
    rescanned_height: claim.rescanned_height ?? start - 1n,
    rescan: from === null ? null : { from, to: to! },
    last_error: doubt && redact(doubt.message),
    failures: doubt ? claim.failures + 1 : 0,
    head_height: head,
    wake_seconds: leaseSeconds,
  };
  return { final, seen, skipped, state };
}

/** Throws `WrongSetting` if the chain was read under another name or chain id. */
async function demandName(
  claim: chains.ChainClaim,
  { name, chain_id }: Chain,
  db: Database,
): Promise<void> {
  if (claim.chain_id !== BigInt(chain_id))
    throw new WrongSetting(
      `${name} was read as the chain ${claim.chain_id} before, but its file says ${chain_id}. Correct chain_id, or give the other chain another name.`,
    );
  const former = claim.start_height === null ? await chains.nameOf(db, claim) : null;
  // guard: renamed-chain-is-not-read
  if (former !== null)
    throw new WrongSetting(
      `The chain ${chain_id} was read under the name ${former} before, so its deposits would be credited again. Rename ${name} to ${former} in its file.`,
    );
}

/**
 * The endpoints of a chain, each checked once. While any but the first is away, the first still
 * reads, but nothing is confirmed, so deposits are held.
 */
async function checkedEndpoints(
  { chain, endpoints: [first, ...others] }: LiveChain,
  deps: ChainDeps,
): Promise<ChainEndpoints> {
  const { checked } = deps;
  if (!checked.has(first)) await demandSetting(chain, first);
  checked.add(first);
  const usable: ChainEndpoint[] = [];
  for (const each of others) {
    try {
      if (!checked.has(each)) await demandSetting(chain, each, 'second');
      checked.add(each);
      usable.push(each);
    } catch (error) {
      if (error instanceof WrongSetting) throw error;
      noteSecond(error, chain.name, deps);
      usable.push({ ...each, rpc: () => Promise.reject(error) });
    }
  }
  return [first, ...usable];
}

/**
 * Reports what a read leaves out: the second reading of its blocks may find the deposits in it.
 * Null: the read must fail instead, as it has not failed often enough.
 */
function leaveOutOf(
  { name: chain, failures }: chains.ChainClaim,
  { log, failures: throttle }: ChainDeps,
): LeaveOut | null {
  if (failures < doubtedMax) return null;
  return (why) => {
    const count = throttle.due(`left out of ${chain}`);
    if (count !== null) log.error({ chain, why, count }, 'a part of a chain was left out');
  };
}

function noteDoubt(doubt: Error, { name }: chains.ChainClaim, deps: ChainDeps): void {
  deps.noteFailed(name);
  deps.log.warn({ chain: name, err: doubt }, 'a deposit could not be confirmed yet');
}

function noteUnread(err: Error, { name: chain }: chains.ChainClaim, deps: ChainDeps): void {
  const count = deps.failures.due(`unread of ${chain}`);
  if (count !== null)
    deps.log.warn({ chain, err, count }, 'the newest blocks could not be read yet');
}

function noteSecond(error: unknown, chain: string, { log, failures }: ChainDeps): null {
  const count = failures.due(chain);
  if (count !== null)
    log.warn({ chain, err: error, count }, 'the second endpoint or a second reading failed');
  return null;
}

/** The blocks that are due to be read once more; null if they are too few yet. */
function dueSecondReading(
  { block_seconds }: Chain,
  { rescanned_height: rescanned }: chains.ChainClaim,
  { scanned }: ChainReading,
): BlockRange | null {
  if (rescanned === null || scanned === null) return null;
  const oldest = scanned.height - BigInt(Math.ceil(secondReadingAfterSeconds / block_seconds));
  const size = Math.min(readAgainBlocksMax, Math.ceil(secondReadingEverySeconds / block_seconds));
  if (oldest - rescanned < BigInt(size)) return null;
  const most = rescanned + BigInt(readAgainBlocksMax);
  return { from: rescanned + 1n, to: lower(most, oldest) };
}

/**
 * Reads some of the blocks that an operator wants to be read once more. If this fails, for example
 * because an endpoint has forgotten old blocks, new blocks are still read. The same blocks are
 * tried again until the operator cancels the rescan.
 */
async function rescanWanted(
  { name, rescan_from: from, rescan_to: to }: chains.ChainClaim,
  read: (piece: BlockRange) => Promise<FinalTransfer[]>,
  { log, failures }: ChainDeps,
): Promise<{ found: FinalTransfer[]; left: BlockRange | null; error: string | null }> {
  if (from === null || to === null) return { found: [], left: null, error: null };
  const most = from + BigInt(readAgainBlocksMax) - 1n;
  const piece = { from, to: lower(most, to) };
  try {
    const found = await read(piece);
    return { found, left: piece.to < to ? { from: piece.to + 1n, to } : null, error: null };
  } catch (error) {
    const count = failures.due(`rescan of ${name}`);
    if (count !== null)
      log.warn({ chain: name, err: error, count, ...piece }, 'blocks could not be rescanned');
    const told = `Blocks ${piece.from} to ${piece.to} could not be rescanned: ${redact(messageOf(error))}. "farebox deposit rescan ${name} --cancel" cancels the rescan.`;
    return { found: [], left: { from, to }, error: told };
  }
}

/** Held deposits that every endpoint knows by now: other endpoints may lag behind the first. */
async function newlyConfirmed(
  chain: Chain,
  endpoints: ChainEndpoints,
  { db }: ChainDeps,
): Promise<FinalTransfer[]> {
  // Only tokens of the chain file, because the decimals of others are unknown.
  const tokens = chain.tokens.map(({ address }) => address);
  const held = await chainDeposits.listUnconfirmed(db, chain.name, tokens, unconfirmedMax);
  return readConfirmed(chain, endpoints, held);
}

async function wakeSeconds(
  chain: Chain,
  { seen, scanned, doubt }: ChainReading,
  { failures }: chains.ChainClaim,
  { db, chainSeconds }: ChainDeps,
): Promise<number> {
  if (doubt) return retrySeconds(doubt, failures, chainSeconds);
  // The chain is behind, so it is read on at once. If no block was scanned, another endpoint is
  // behind, and asking at once would change nothing.
  if (seen === null && scanned !== null) return 0;
  const soon = Math.min(soonSeconds, chainSeconds);
  if (seen === null || seen.length > 0 || (await addresses.areShown(db, chain.family))) return soon;
  // The trial reads its chain more often only while somebody waits.
  return Math.max(1, chainSeconds);
}

/** Seconds until a read that failed is tried again: as the endpoint asks, or longer each time. */
function retrySeconds(error: unknown, failures: number, chainSeconds: number): number {
  const asked = error instanceof RpcError ? (error.retry_after_seconds ?? 0) : 0;
  const usual = chainSeconds * 2 ** Math.min(failures, 10);
  // Chains that failed together should not all be tried again at one moment.
  const seconds = Math.min(failureMaxSeconds, usual) * (0.75 + Math.random() / 2);
  return Math.max(seconds, Math.min(asked, failureMaxSeconds));
}

/** Records why a read failed, and when to try again. */
async function note(
  error: unknown,
  claim: chains.ChainClaim,
  { db, log, chainSeconds, isStopping, noteFailed }: ChainDeps,
): Promise<void> {
  if (isStopping()) return chains.release(db, claim);
  noteFailed(claim.name);
  const { name, failures } = claim;
  // An endpoint may repeat its address, and with it a key.
  const message = redact(messageOf(error));
  const short = message.slice(0, 500);
  const isReplaced = error instanceof ReplacedBlock;
  const wake_seconds = retrySeconds(error, failures, chainSeconds);
  const refused_why = error instanceof WrongSetting ? short : null;
  const stopped_why = isReplaced ? short : null;
  if (isReplaced) log.error({ chain: name, err: error }, 'a final block was replaced: stopped');
  else log.warn({ chain: name, err: error, failures }, 'a chain could not be read');
  await noteFailedRead(db, claim, { message, wake_seconds, refused_why, stopped_why });
}
