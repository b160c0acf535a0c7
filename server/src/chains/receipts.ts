import type { SeenTransfer } from '../core/deposit/transfer.ts';
import { isObject, type Json } from '../lib/json.ts';
import { transferIn, unknownDetails } from './logs.ts';
import type { Rpc } from './rpc.ts';
import { readBlock } from './scan.ts';
import { BadAnswer, heightIn, numberIn, word } from './wire.ts';

/**
 * Looks for transfers in the receipts of their transactions. A receipt tells the place and the
 * block of a log. The log's number in the block tells little: some nodes give one number to several
 * logs, or another one than in their answers about logs.
 */

/** A transfer that an endpoint is asked to confirm. */
export interface WantedTransfer extends Omit<SeenTransfer, 'block_log_index' | 'from_address'> {
  /** The number of its log in the block; null: not known. */
  block_log_index: number | null;
  /** The place of its log in the receipt, which a reorg cannot change; null: not known. */
  log_position: number | null;
  /** How many equal transfers of its transaction come before it; null: not known. */
  rank: number | null;
}

/** A transfer as the receipt of its transaction has it. */
export interface ReceivedTransfer extends SeenTransfer {
  log_position: number;
  block_at: Date;
}

/** The transfer in its receipt; null if the endpoint does not confirm it. */
export async function readReceived(
  call: Rpc,
  wanted: WantedTransfer,
): Promise<ReceivedTransfer | null> {
  const receipt = await call('eth_getTransactionReceipt', [wanted.tx_hash]);
  if (receipt === null) return null;
  if (!isObject(receipt)) throw new BadAnswer('eth_getTransactionReceipt: not a receipt');
  if (!isSuccessful(receipt)) return null;
  const block_hash = word(receipt.blockHash, 'a block hash');
  const block = await readBlock(call, heightIn(receipt.blockNumber));
  if (block?.hash !== block_hash) return null;
  const logs = Array.isArray(receipt.logs) ? receipt.logs : [];
  const log_position = wanted.log_position ?? placeOf(logs, wanted);
  const log = logs[log_position];
  const found = log === undefined ? null : transferIn(log);
  const isSame =
    found !== null &&
    found.tx_hash === wanted.tx_hash &&
    found.block_hash === block_hash &&
    isAlike(found, wanted);
  if (!isSame) return null;
  // The same number as in the answers about logs, by which a row without a place is found.
  const block_log_index = wanted.block_log_index ?? found.block_log_index;
  return { ...found, block_log_index, log_position, block_at: block.at };
}

/** Whether two endpoints have the same transfer at the same place. */
export function isSameTransfer(one: ReceivedTransfer, other: ReceivedTransfer | null): boolean {
  return one.log_position === other?.log_position && one.units === other.units;
}

/** Whether this is the transfer that is looked for, or one that is equal to it. */
function isAlike(found: SeenTransfer, { token, to_address, units }: WantedTransfer): boolean {
  return (
    found.token === token &&
    found.to_address === to_address &&
    [found.units, unknownDetails.units].includes(units)
  );
}

/** The place of the transfer's log among the logs of a receipt; -1: none. */
function placeOf(logs: readonly unknown[], wanted: WantedTransfer): number {
  const { rank, block_log_index: number } = wanted;
  const alike = transfersOf(logs).flatMap((found, place) =>
    found && isAlike(found, wanted) ? [place] : [],
  );
  // A log that an answer repeats has the place of the last one.
  if (rank !== null) return alike[Math.min(rank, alike.length - 1)] ?? -1;
  const isNumbered = (place: number) =>
    number !== null && numberIn((logs[place] as Json).logIndex) === BigInt(number);
  return alike.find(isNumbered) ?? (alike.length === 1 ? alike[0]! : -1);
}

const known = new WeakMap<readonly unknown[], (SeenTransfer | null)[]>();

/** The transfers in the logs of a receipt, which many may share; null: another event. */
function transfersOf(logs: readonly unknown[]): (SeenTransfer | null)[] {
  const before = known.get(logs);
  if (before) return before;
  const read = logs.map((log) => {
    try {
      return transferIn(log);
    } catch {
      return null;
    }
  });
  known.set(logs, read);
  return read;
}

/** Whether the transaction of a receipt did not fail. */
export function isSuccessful({ status }: Json): boolean {
  return status === true || numberIn(status) === 1n;
}
