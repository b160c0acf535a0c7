import type { FinalTransfer, SeenTransfer } from '../core/deposit/transfer.ts';
import { errorOf } from '../lib/unknown.ts';
import { isGarbled } from './logs.ts';
import { isSameTransfer, type ReceivedTransfer } from './receipts.ts';
import { RpcError } from './rpc.ts';
import { demandOrder, type ChainBlock } from './scan.ts';
import { BadAnswer } from './wire.ts';
import type { Witness } from './witness.ts';

/** Checks the transfers of final blocks by their receipts. */

export interface TransferChecks {
  /** The endpoint that has found the transfers. */
  first: Witness;
  others: readonly Witness[];
  /** The blocks before and at the end of the read. */
  before: ChainBlock | null;
  last: ChainBlock;
  /**
   * True: a transfer that `first` does not confirm is among the results as unconfirmed. False: it
   * is left for the next read.
   */
  holds: boolean;
  /** After this many transfers, the check ends with the current block. */
  most: number;
}

export interface CheckedTransfers {
  final: FinalTransfer[];
  /** The block up to which no transfer was left; null: all were checked. */
  upTo: bigint | null;
  /** Why transfers were left although `first` answers; null: for no such reason. */
  doubt: Error | null;
  /** Why the rest was not checked; null: it was, or there were too many. */
  failure: Error | null;
}

/** Throws if nothing was checked because of a doubt or a failure. */
export async function checkTransfers(
  found: readonly SeenTransfer[],
  how: TransferChecks,
): Promise<CheckedTransfers> {
  const final: FinalTransfer[] = [];
  let checkedTo: bigint | null = null;
  let failure: Error | null = null;
  let doubt: { height: bigint; error: Error } | null = null;
  const blocks = Map.groupBy(found, ({ block_height }) => block_height);
  for (const [height, transfers] of blocks) {
    if (final.length >= how.most) break;
    const checks = [];
    for (const [i, transfer] of transfers.entries())
      checks.push(await checkTransfer(transfer, rankOf(transfers, i), how));
    failure = checks.find(({ error }) => isFailure(error, how.holds))?.error ?? null;
    if (failure) break;
    for (const { transfer, error } of checks)
      if (error === null || how.holds) final.push(transfer);
      else doubt ??= { height, error };
    checkedTo = height;
    blocks.delete(height);
  }
  const reason = doubt?.error ?? failure;
  if (reason && final.length === 0) throw reason;
  const isCut = blocks.size > 0;
  const upTo = doubt ? doubt.height - 1n : isCut ? checkedTo : null;
  return { final, upTo, doubt: doubt?.error ?? null, failure };
}

/** An endpoint that refuses one receipt may give the next one, but one that hangs gives none. */
function isFailure(error: Error | null, holds: boolean): boolean {
  return error instanceof RpcError && (!holds || error.code === null);
}

/** The transfer with its log's place, its block's time, and whether every endpoint confirms it. */
async function checkTransfer(
  transfer: SeenTransfer,
  rank: number | null,
  { first, others, before, last }: TransferChecks,
): Promise<{ transfer: FinalTransfer; error: Error | null }> {
  const unplaced = { ...transfer, log_position: null };
  const wanted = { ...unplaced, rank };
  const [own, ...more] = await Promise.all([
    first.readReceived(wanted).then((received) => inOrder(received, before, last), errorOf),
    ...others.map((each) => each.readReceivedOrNull(wanted)),
  ]);
  if (own && !(own instanceof Error)) {
    // guard: both-endpoints-asked (off: false)
    const isDoubted = !more.every((each) => isSameTransfer(own, each));
    return { transfer: { ...own, is_confirmed: !isDoubted }, error: null };
  }
  const known = more.find((each) => each !== null);
  return {
    transfer: { ...unplaced, block_at: last.at, ...known, is_confirmed: false },
    error:
      own ??
      new BadAnswer(
        `the endpoint has found the transfer ${transfer.tx_hash}, but does not confirm it`,
      ),
  };
}

/** How many transfers before this one are equal to it; null: not all of them can be read. */
function rankOf(transfers: readonly SeenTransfer[], at: number): number | null {
  const one = transfers[at]!;
  const same = transfers.filter(({ tx_hash }) => tx_hash === one.tx_hash);
  if (same.some(isGarbled)) return null;
  const isEqual = (other: SeenTransfer) =>
    other.token === one.token && other.to_address === one.to_address && other.units === one.units;
  return same.slice(0, same.indexOf(one)).filter(isEqual).length;
}

function inOrder(
  received: ReceivedTransfer | null,
  before: ChainBlock | null,
  last: ChainBlock,
): ReceivedTransfer | Error | null {
  if (received === null) return null;
  const { block_height: height, block_hash: hash, block_at: at } = received;
  try {
    demandOrder(...(before ? [before] : []), { height, hash, at }, last);
    return received;
  } catch (error) {
    return errorOf(error);
  }
}
