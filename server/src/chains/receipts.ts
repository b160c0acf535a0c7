import type { SeenTransfer } from '../core/deposit/transfer.ts';
import { isObject } from '../lib/json.ts';
import { transferIn, unknownDetails } from './logs.ts';
import type { Rpc } from './rpc.ts';
import { readBlock } from './scan.ts';
import { BadAnswer, heightIn, hexOf, word } from './wire.ts';

/** Looks for transfers in the receipts of their transactions. */

/** A transfer that an endpoint is asked to confirm. */
export interface WantedTransfer extends Omit<SeenTransfer, 'block_log_index' | 'from_address'> {
  /** The number of its log in the block; null: not known. */
  block_log_index: number | null;
  /** The place of its log in the receipt, which a reorg cannot change; null: not known. */
  log_position: number | null;
}

/** A transfer as the receipt of its transaction has it. */
export interface ReceivedTransfer extends SeenTransfer {
  log_position: number;
  block_at: Date;
}

/** The transfer in its receipt; null if the endpoint does not confirm it. */
export async function receivedTransfer(
  call: Rpc,
  wanted: WantedTransfer,
): Promise<ReceivedTransfer | null> {
  const receipt = await call('eth_getTransactionReceipt', [wanted.tx_hash]);
  if (receipt === null) return null;
  if (!isObject(receipt)) throw new BadAnswer('eth_getTransactionReceipt: not a receipt');
  if (receipt.status !== '0x1') return null;
  const block_hash = word(receipt.blockHash, 'a block hash');
  const block = await readBlock(call, heightIn(receipt.blockNumber));
  if (block?.hash !== block_hash) return null;
  const logs = Array.isArray(receipt.logs) ? receipt.logs : [];
  const log_position = wanted.log_position ?? placeOf(logs, wanted.block_log_index);
  const log = logs[log_position];
  const found = log === undefined ? null : transferIn(log);
  const isSame =
    found !== null &&
    found.tx_hash === wanted.tx_hash &&
    found.token === wanted.token &&
    found.to_address === wanted.to_address &&
    found.block_hash === block_hash &&
    [found.block_hash, unknownDetails.block_hash].includes(wanted.block_hash) &&
    [found.units, unknownDetails.units].includes(wanted.units);
  return isSame ? { ...found, log_position, block_at: block.at } : null;
}

/** Whether two endpoints have the same transfer at the same place. */
export function isSameTransfer(one: ReceivedTransfer, other: ReceivedTransfer | null): boolean {
  return one.log_position === other?.log_position && one.units === other.units;
}

/** The place of the log with this number in its block; -1: none. */
function placeOf(logs: readonly unknown[], index: number | null): number {
  if (index === null) return -1;
  const written = hexOf(BigInt(index));
  return logs.findIndex((log) => isObject(log) && plainHex(log.logIndex) === written);
}

function plainHex(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase().replace(/^0x0+(?=.)/, '0x') : value;
}
