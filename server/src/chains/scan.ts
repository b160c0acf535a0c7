import type { Chain } from '../core/deposit/chain.ts';
import type { BlockRange, SeenTransfer } from '../core/deposit/transfer.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/unknown.ts';
import type { QuestionLimits, QuestionSize } from './limits.ts';
import { demandFit, isGarbled, transferIn } from './logs.ts';
import { RpcError, type Rpc } from './rpc.ts';
import {
  BadAnswer,
  decimalsCall,
  heightIn,
  hexOf,
  quantity,
  timeIn,
  topicOf,
  transferTopic,
  word,
} from './wire.ts';
import { lower } from '../lib/bigints.ts';

/**
 * Reads blocks and transfers of tokens from a chain. EVM chains and TRON answer the same calls.
 * Each answer is checked: one that does not fit its question is an error.
 */

export interface ChainBlock {
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
  const isWord = typeof answer === 'string' && answer.length >= 64;
  return isWord ? BigInt(word(answer, 'a word')) : quantity(answer, 'the number of decimals');
}

/** The block at a height, or the finalized one; null if the endpoint does not have it. */
export async function readBlock(
  call: Rpc,
  which: bigint | 'finalized',
): Promise<ChainBlock | null> {
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
export function demandOrder(...blocks: readonly ChainBlock[]): void {
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
export async function demandBlock(call: Rpc, height: bigint): Promise<ChainBlock> {
  const block = await readBlock(call, height);
  if (!block) throw new BadAnswer(`the endpoint does not have block ${height} yet`);
  return block;
}

/** The newest final block below this head; null while the chain is too short to have one. */
export async function readFinal(
  call: Rpc,
  { finality }: Pick<Chain, 'finality'>,
  head: bigint,
): Promise<ChainBlock | null> {
  if (finality === 'finalized') return readBlock(call, 'finalized');
  const height = head - BigInt(finality.confirmations);
  return height < 0n ? null : demandBlock(call, height);
}

/** A question for transfers of these tokens to these addresses, in these blocks. */
export interface Question extends BlockRange {
  tokens: readonly string[];
  addresses: readonly string[];
  /** Other transfers are dropped at once, so that a flood of them takes no memory. */
  isNoted: (transfer: SeenTransfer) => boolean;
  /** True: logs without details are taken, because a receipt may have them. */
  takesGarbled: boolean;
  leaveOut: LeaveOut | null;
  /** The newest final block. */
  final: bigint;
}

/**
 * From this block on, an endpoint gives no logs, or those that it gives are not to be believed
 * although some of them are of blocks that are not final yet. Blocks before it may be read.
 */
export class LogsUnreadable extends Error {
  override readonly name = 'LogsUnreadable';
  readonly height: bigint;

  constructor(height: bigint, cause: unknown) {
    super(messageOf(cause), { cause });
    this.height = height;
  }
}

/**
 * Called with the reason for each log or block that the endpoint cannot give; the read goes on.
 * Without this function the read fails.
 */
export type LeaveOut = (why: string) => void;

/** If an endpoint cannot give more than this, it cannot be read at all. */
const leftOutMax = 20;

/** All transfers that the question asks for. Throws `RpcError`, `BadAnswer` or `LogsUnreadable`. */
export async function readTransfers(
  call: Rpc,
  question: Question,
  limits: QuestionLimits,
): Promise<SeenTransfer[]> {
  const { tokens, addresses, final } = question;
  const topics = addresses.map(topicOf);
  const transfers = collectTransfers(question);
  const leaveOut = leaveOutSome(question.leaveOut);
  const ask = async (range: BlockRange, first: number, count: number) => {
    const logs = await readLogs(call, tokens, range, topics.slice(first, first + count));
    const add = transfers.ofAnswer(range);
    for (const log of logs)
      try {
        add(log);
      } catch (error) {
        if (range.to > final) throw new LogsUnreadable(range.from, error);
        leaveOut(`a log in the blocks ${range.from} to ${range.to}`, error);
      }
    return logs.length;
  };
  const isAnswered = (height: bigint) =>
    readLogs(call, tokens, { from: height, to: height }, topics.slice(0, 1)).then(
      () => true,
      () => false,
    );
  /** Leaves a block out if it alone cannot be read. Throws if the endpoint is away. */
  const passOver = async (height: bigint, error: unknown) => {
    // An endpoint may know newest blocks, and have no logs of them yet.
    const isAbove = height > final || (height > question.from && !(await isAnswered(final)));
    if (isAbove) throw new LogsUnreadable(height, error);
    const isReply = error instanceof RpcError && error.code !== null;
    if (question.leaveOut === null || !isReply || height === 0n) throw error;
    if (!(await isAnswered(height - 1n)) || (await isAnswered(height))) throw error;
    leaveOut(`block ${height}`, error);
  };
  if (topics.length > 0) await askInPieces(question, topics.length, { limits, ask, passOver });
  return transfers.all();
}

/** The transfers in answers, each once, as several answers may have it. */
function collectTransfers({ tokens, addresses, isNoted, takesGarbled }: Question) {
  const found = new Map<string, SeenTransfer>();
  const watched = new Set(addresses);
  return {
    /** Adds the logs of one answer. Throws `BadAnswer` for a log that the question excludes. */
    ofAnswer(range: BlockRange): (log: unknown) => void {
      // Some nodes give one number to several logs of an answer, so they are counted.
      const counts = new Map<string, number>();
      return (log) => {
        const transfer = transferIn(log, takesGarbled);
        if (transfer === null) return;
        // guard: answer-fits-question
        demandFit(transfer, { tokens, range, watched });
        if (!isGarbled(transfer) && !isNoted(transfer)) return;
        const { tx_hash, block_log_index, token, to_address, units } = transfer;
        const same = `${tx_hash}:${block_log_index}:${token}:${to_address}:${units}`;
        const count = (counts.get(same) ?? 0) + 1;
        counts.set(same, count);
        found.set(`${same}:${count}`, transfer);
      };
    },
    all: (): SeenTransfer[] =>
      [...found.values()].toSorted(
        (one, other) =>
          Number(one.block_height - other.block_height) ||
          one.block_log_index - other.block_log_index,
      ),
  };
}

/** Tells what is left out. Throws the error if nothing may be left out, or too much was. */
function leaveOutSome(tell: LeaveOut | null): (what: string, error: unknown) => void {
  let leftOut = 0;
  return (what, error) => {
    leftOut += 1;
    if (tell === null || leftOut > leftOutMax) throw error;
    tell(`${what}: ${messageOf(error)}`);
  };
}

interface Pieces {
  limits: QuestionLimits;
  /**
   * Asks for these blocks, and for so many addresses from the `first` one on. Returns the number of
   * logs in the answer.
   */
  ask: (range: BlockRange, first: number, count: number) => Promise<number>;
  /** Called if not even one address of the block can be asked for. May throw. */
  passOver: (height: bigint, refusal: Error) => Promise<void>;
}

/** Asks for blocks piece by piece; for the first piece, only from the `first` address on. */
async function askInPieces(
  range: BlockRange,
  count: number,
  how: Pieces,
  first = 0,
): Promise<void> {
  const { limits, passOver } = how;
  let begun = first;
  for (let low = range.from; low <= range.to; begun = 0) {
    const high = lower(range.to, low + BigInt(limits.blocks) - 1n);
    while (begun < count) {
      const from = begun;
      const ask = ({ blocks, addresses }: QuestionSize) =>
        how.ask({ from: low, to: low + BigInt(blocks) - 1n }, from, addresses);
      const blocks = Number(high - low) + 1;
      const asked = { blocks, addresses: Math.min(limits.addresses, count - begun) };
      try {
        const logs = await ask(asked);
        if (isPerhapsCut(logs) && asked.blocks * asked.addresses > 1)
          throw new RpcError('eth_getLogs', null, `${logs} logs, and perhaps not all of them`);
      } catch (error) {
        const refusal = await limits.shrink(error, asked, ask);
        if (refusal) await passOver(low, refusal);
        // Earlier answers are kept; the remaining addresses are asked for in smaller pieces.
        const rest = { from: refusal ? low + 1n : low, to: high };
        await askInPieces(rest, count, how, refusal ? 0 : begun);
        break;
      }
      limits.noteAnswer();
      begun += asked.addresses;
    }
    low = high + 1n;
  }
}

/** Some services give 100, 1,000 or 10,000 logs at most, and do not say that there are more. */
function isPerhapsCut(logs: number): boolean {
  return /^100+$/.test(String(logs));
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
