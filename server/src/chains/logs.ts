import type { BlockRange, SeenTransfer } from '../core/deposit/transfer.ts';
import { isObject, type Json } from '../lib/json.ts';
import { addressIn, BadAnswer, heightIn, hex, quantity, transferTopic, word } from './wire.ts';

/** Reads transfers in logs, and checks that a log is one that was asked for. */

/** No log has a larger number, and no column takes one. */
const logIndexMax = 2 ** 31 - 1;

/** The parts of a log that an endpoint may garble. Its receipt may have them. */
type Details = Pick<SeenTransfer, 'units' | 'block_hash' | 'from_address'>;
export const unknownDetails: Details = {
  units: 0n,
  block_hash: `0x${'0'.repeat(64)}`,
  from_address: `0x${'0'.repeat(40)}`,
};

/**
 * The transfer in a log; null if a reorg has removed it. Throws `BadAnswer`. If `takesGarbled`, it
 * may have `unknownDetails`: place, token and receiver suffice to hold a deposit until an endpoint
 * has the rest.
 */
export function transferIn(log: unknown, takesGarbled = false): SeenTransfer | null {
  if (!isObject(log)) throw new BadAnswer('a log is not an object');
  if (log.removed === true) return null;
  const place = placeIn(log);
  try {
    return { ...place, ...detailsIn(log) };
  } catch (error) {
    if (takesGarbled) return { ...place, ...unknownDetails };
    throw error;
  }
}

export function isGarbled({ block_hash }: SeenTransfer): boolean {
  return block_hash === unknownDetails.block_hash;
}

function placeIn(log: Json): Omit<SeenTransfer, keyof Details> {
  const [event, , to, ...more] = topicsOf(log);
  const isTransfer = event !== undefined && word(event, 'an event') === transferTopic;
  if (!isTransfer || more.length > 0) throw new BadAnswer('a log is not a Transfer');
  const block_log_index = Number(quantity(log.logIndex, 'a number'));
  if (block_log_index > logIndexMax) throw new BadAnswer(`a log has the number ${block_log_index}`);
  return {
    tx_hash: word(log.transactionHash, 'a transaction hash'),
    block_log_index,
    block_height: heightIn(log.blockNumber),
    token: hex(log.address, 40, 'a contract'),
    to_address: addressIn(to),
  };
}

function detailsIn(log: Json): Details {
  const [, from] = topicsOf(log);
  return {
    block_hash: word(log.blockHash, 'a block hash'),
    from_address: addressIn(from),
    units: BigInt(word(log.data, 'an amount')),
  };
}

function topicsOf({ topics }: Json): unknown[] {
  return Array.isArray(topics) ? topics : [];
}

export function demandFit(
  { token, block_height, to_address }: SeenTransfer,
  asked: { tokens: readonly string[]; range: BlockRange; watched: ReadonlySet<string> },
): void {
  const { from, to } = asked.range;
  if (!asked.tokens.includes(token)) throw new BadAnswer(`a log of another contract, ${token}`);
  if (block_height < from || block_height > to)
    throw new BadAnswer(`a log of block ${block_height}, asked for ${from} to ${to}`);
  if (!asked.watched.has(to_address)) throw new BadAnswer('a log to an address not asked for');
}
