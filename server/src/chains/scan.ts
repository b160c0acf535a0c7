import type { Chain } from '../core/deposit/chain.ts';
import type { BlockRange, SeenTransfer } from '../core/deposit/transfer.ts';
import { isObject, type Json } from '../lib/json.ts';
import type { QuestionLimits, QuestionSize } from './limits.ts';
import { RpcError, type Rpc } from './rpc.ts';
import {
  addressIn,
  BadAnswer,
  decimalsCall,
  hex,
  heightIn,
  hexOf,
  quantity,
  timeIn,
  topicOf,
  transferTopic,
  word,
} from './wire.ts';

/**
 * Reads transfers of tokens from a chain. EVM chains and TRON answer the same calls. Each answer is
 * checked: what does not fit the question is an error and never skipped.
 */

export interface Block {
  height: bigint;
  hash: string;
  /** The time of the block. */
  at: Date;
}

export async function readChainId(call: Rpc): Promise<bigint> {
  return quantity(await call('eth_chainId'), 'a chain id');
}

export async function readHead(call: Rpc): Promise<bigint> {
  return heightIn(await call('eth_blockNumber'));
}

/** How many decimals a token has by its own contract. */
export async function readDecimals(call: Rpc, token: string): Promise<bigint> {
  const answer = await call('eth_call', [{ to: token, data: decimalsCall }, 'latest']);
  return BigInt(word(answer, 'the number of decimals'));
}

/** The block at a height, or the finalized one; null if the endpoint does not have it. */
export async function readBlock(call: Rpc, which: bigint | 'finalized'): Promise<Block | null> {
  const name = which === 'finalized' ? which : hexOf(which);
  const block = await call('eth_getBlockByNumber', [name, false]);
  if (block === null) return null;
  if (!isObject(block)) throw new BadAnswer('eth_getBlockByNumber: not a block');
  const height = heightIn(block.number);
  if (which !== 'finalized' && height !== which)
    throw new BadAnswer(`asked for block ${which}, got ${height}`);
  return { height, hash: word(block.hash, 'a block hash'), at: timeIn(block.timestamp) };
}

/** Throws `BadAnswer` if a block has an earlier time than one before it. */
export function demandOrder(...blocks: readonly Block[]): void {
  const [earlier, ...later] = blocks;
  if (!earlier) return;
  for (const block of later)
    if (block.height > earlier.height && block.at < earlier.at)
      throw new BadAnswer(
        `the block's time is before that of an earlier block: ${block.height} has ${block.at.toISOString()}, ${earlier.height} has ${earlier.at.toISOString()}`,
      );
  demandOrder(...later);
}

/**
 * Like `readBlock`, but throws `BadAnswer` if the endpoint lags behind: it would answer as if the
 * missing blocks were empty.
 */
export async function demandBlock(call: Rpc, height: bigint): Promise<Block> {
  const block = await readBlock(call, height);
  if (!block) throw new BadAnswer(`the endpoint does not have block ${height} yet`);
  return block;
}

/** The newest final block below this head; null while the chain is too short to have one. */
export async function readFinal(
  call: Rpc,
  { finality }: Pick<Chain, 'finality'>,
  head: bigint,
): Promise<Block | null> {
  if (finality === 'finalized') return readBlock(call, 'finalized');
  const height = head - BigInt(finality.confirmations);
  return height < 0n ? null : demandBlock(call, height);
}

/** A question for transfers of these tokens, in blocks `from` to `to`. */
interface Question {
  tokens: readonly string[];
  from: bigint;
  to: bigint;
  /** Other transfers are dropped at once, so that a flood of them takes no memory. */
  isNoted: (transfer: SeenTransfer) => boolean;
}

/** All transfers to these addresses that the question asks for. */
export async function readTransfers(
  call: Rpc,
  range: Question,
  addresses: readonly string[],
  limits: QuestionLimits,
): Promise<SeenTransfer[]> {
  const found = new Map<string, SeenTransfer>();
  const watched = new Set(addresses);
  const padded = addresses.map(topicOf);
  const { tokens, to, isNoted } = range;
  const ask = async (low: bigint, high: bigint, topics: readonly string[]) => {
    for (const log of await readLogs(call, tokens, { from: low, to: high }, topics)) {
      const transfer = transferIn(log);
      if (transfer === null) continue;
      // guard: answer-fits-question
      demandFit(transfer, { tokens, low, high, watched });
      if (isNoted(transfer)) found.set(`${transfer.tx_hash}:${transfer.block_log_index}`, transfer);
    }
  };
  /** Asks for a range of blocks piece by piece; for the first piece, only from this address on. */
  const walk = async (from: bigint, until: bigint, firstAddress: number): Promise<void> => {
    let begun = firstAddress;
    for (let low = from; low <= until; begun = 0) {
      const high = lower(until, low + BigInt(limits.blocks) - 1n);
      const sized = (first: number) => (size: QuestionSize) =>
        ask(low, low + BigInt(size.blocks) - 1n, padded.slice(first, first + size.addresses));
      while (begun < padded.length) {
        const addressesLeft = padded.length - begun;
        const asked = {
          blocks: Number(high - low) + 1,
          addresses: Math.min(limits.addresses, addressesLeft),
        };
        try {
          await sized(begun)(asked);
        } catch (error) {
          await limits.shrink(error, asked, sized(begun));
          // Earlier answers are kept; the remaining addresses are asked for in smaller pieces.
          await walk(low, high, begun);
          break;
        }
        limits.answered();
        begun += asked.addresses;
      }
      low = high + 1n;
    }
  };
  if (padded.length > 0) await walk(range.from, to, 0);
  return [...found.values()].toSorted(
    (one, other) =>
      Number(one.block_height - other.block_height) || one.block_log_index - other.block_log_index,
  );
}

/** The logs of transfers of these tokens to these addresses, not checked yet. */
async function readLogs(
  call: Rpc,
  tokens: readonly string[],
  { from, to }: BlockRange,
  topics: readonly string[],
): Promise<unknown[]> {
  const logs = await call('eth_getLogs', [
    {
      address: tokens.length === 1 ? tokens[0] : tokens,
      fromBlock: hexOf(from),
      toBlock: hexOf(to),
      topics: [transferTopic, null, topics],
    },
  ]);
  // Some endpoints answer null where others refuse.
  if (!Array.isArray(logs)) throw new RpcError('eth_getLogs', null, 'the answer is not a list');
  return logs;
}

/** A transfer in a block, to be confirmed. Its log is found by its number in the block. */
type Mined = Pick<
  SeenTransfer,
  'tx_hash' | 'block_height' | 'block_hash' | 'token' | 'to_address' | 'units'
> & { block_log_index: number };
/** A stored transfer. Its log is found by its place in the receipt, which a reorg cannot change. */
type Stored = Omit<Mined, 'block_log_index'> & { log_position: number };

/** The place of the transfer's log in its receipt; null if the endpoint does not confirm it. */
export async function confirmTransfer(call: Rpc, transfer: Mined | Stored): Promise<number | null> {
  const receipt = await call('eth_getTransactionReceipt', [transfer.tx_hash]);
  if (receipt === null) return null;
  if (!isObject(receipt)) throw new BadAnswer('eth_getTransactionReceipt: not a receipt');
  if (receipt.status !== '0x1') return null;
  const block_hash = word(receipt.blockHash, 'a block hash');
  const block = await readBlock(call, heightIn(receipt.blockNumber));
  if (block?.hash !== block_hash) return null;
  const logs = Array.isArray(receipt.logs) ? receipt.logs : [];
  const log_position =
    'log_position' in transfer
      ? transfer.log_position
      : logs.findIndex((log) => isObject(log) && isNumbered(log, transfer.block_log_index));
  const log = logs[log_position];
  const known = log === undefined ? null : transferIn(log);
  const isSame =
    known !== null &&
    known.tx_hash === transfer.tx_hash &&
    known.block_hash === transfer.block_hash &&
    known.token === transfer.token &&
    known.to_address === transfer.to_address &&
    known.units === transfer.units;
  return isSame ? log_position : null;
}

function isNumbered(log: Json, index: number): boolean {
  return quantity(log.logIndex, 'a number') === BigInt(index);
}

/** The transfer in a log; null if a reorg has removed it. */
function transferIn(log: unknown): SeenTransfer | null {
  if (!isObject(log)) throw new BadAnswer('a log is not an object');
  if (log.removed === true) return null;
  const [event, from, to, ...more] = Array.isArray(log.topics) ? log.topics : [];
  if (event !== transferTopic || more.length > 0) throw new BadAnswer('a log is not a Transfer');
  return {
    tx_hash: word(log.transactionHash, 'a transaction hash'),
    block_log_index: Number(quantity(log.logIndex, 'a number')),
    block_height: heightIn(log.blockNumber),
    block_hash: word(log.blockHash, 'a block hash'),
    token: hex(log.address, 40, 'a contract'),
    from_address: addressIn(from),
    to_address: addressIn(to),
    units: BigInt(word(log.data, 'an amount')),
  };
}

function demandFit(
  { token, block_height, to_address }: SeenTransfer,
  asked: { tokens: readonly string[]; low: bigint; high: bigint; watched: ReadonlySet<string> },
): void {
  if (!asked.tokens.includes(token)) throw new BadAnswer(`a log of another contract, ${token}`);
  if (block_height < asked.low || block_height > asked.high)
    throw new BadAnswer(`a log of block ${block_height}, asked for ${asked.low} to ${asked.high}`);
  if (!asked.watched.has(to_address)) throw new BadAnswer('a log to an address not asked for');
}

export function lower(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
