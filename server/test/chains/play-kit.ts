import { PlayChain } from '../../src/chains/play.ts';
import { QuestionLimits } from '../../src/chains/limits.ts';
import { RpcError, type Rpc } from '../../src/chains/rpc.ts';
import type { ChainEndpoint } from '../../src/chains/noted.ts';
import { hexOf, topicOf, transferTopic, wordOf } from '../../src/chains/wire.ts';
import { chain } from '../operations/deposits-kit.ts';

/** A play chain whose blocks the test makes, and endpoints of it with faults. */

export interface PlayWorld {
  play: PlayChain;
  /** Makes blocks. */
  mine(count?: number): void;
  head(): bigint;
}

export function playWorld(head = 100, of = chain): PlayWorld {
  let height = BigInt(head);
  const play = new PlayChain({
    chain: of,
    head: () => height,
    // High blocks are not in the future either, because no reader believes such a time.
    timeOf: (at) => new Date(1_767_225_600_000 + Number(at % 1_000_000n) * 1000),
  });
  return { play, mine: (count = 1) => void (height += BigInt(count)), head: () => height };
}

export function endpointOf(rpc: Rpc): ChainEndpoint & { calls: string[] } {
  const calls: string[] = [];
  return {
    rpc: (method, params) => {
      calls.push(method);
      return rpc(method, params);
    },
    limits: new QuestionLimits(),
    calls,
  };
}

export interface Faults {
  /** Refuses questions over more blocks, in these words. */
  blocksMax?: [count: number, refusal: RpcError];
  /** Refuses questions for more addresses, in these words. */
  addressesMax?: [count: number, refusal: RpcError];
  /** Refuses answers with more logs, in these words. */
  logsMax?: [count: number, refusal: RpcError];
  /** The endpoint does not know so many newest blocks. */
  lag?: number;
  /** The endpoint answers as if so many newest blocks did not exist. */
  behind?: number;
  /** Leaves out the logs of this block. */
  gap?: bigint;
  /** Knows the newest block, but not the block's logs yet. */
  headWithoutLogs?: boolean;
  /** Invents a transfer, in answers and in the receipt. */
  invents?: { token: string; to: string; units: bigint; height: bigint };
  /** Refuses every call, in these words. */
  refuses?: RpcError;
  /** Changes each answer. */
  forge?: (method: string, answer: any, params: readonly any[]) => unknown;
}

/** The same chain as an endpoint with faults sees it. The faults may be changed later. */
export function withFaults(rpc: Rpc, faults: Faults): Rpc {
  return async (method, params = []) => {
    if (faults.refuses) throw faults.refuses;
    const answer = await answerOf(rpc, method, params, faults);
    return faults.forge ? faults.forge(method, answer, params) : answer;
  };
}

/** The same chain under another chain id. */
export function numbered(rpc: Rpc, chain_id: number): Rpc {
  return async (method, params) =>
    method === 'eth_chainId' ? hexOf(BigInt(chain_id)) : rpc(method, params);
}

async function answerOf(
  rpc: Rpc,
  method: string,
  params: readonly unknown[],
  faults: Faults,
): Promise<unknown> {
  const { invents, lag = 0, behind = 0 } = faults;
  const [first] = params;
  switch (method) {
    case 'eth_blockNumber':
      return hexOf((await headOf(rpc)) - BigInt(behind));
    case 'eth_getLogs':
      return logsOf(rpc, first, faults);
    case 'eth_getBlockByNumber': {
      const known = (await headOf(rpc)) - BigInt(lag + behind);
      if (first !== 'finalized')
        return BigInt(first as string) > known ? null : rpc(method, params);
      const { number } = (await rpc(method, params)) as { number: string };
      return rpc(method, [hexOf(BigInt(number) - BigInt(behind)), false]);
    }
    case 'eth_getTransactionReceipt': {
      if (!invents || first !== inventedHash) return rpc(method, params);
      const log = await inventedLog(rpc, invents);
      const { blockNumber, blockHash } = log;
      return { status: '0x1', blockNumber, blockHash, logs: [log] };
    }
    default:
      return rpc(method, params);
  }
}

async function logsOf(rpc: Rpc, filter: any, faults: Faults): Promise<unknown> {
  const { fromBlock, toBlock, topics } = filter;
  const blocks = Number(BigInt(toBlock) - BigInt(fromBlock)) + 1;
  if (faults.blocksMax && blocks > faults.blocksMax[0]) throw faults.blocksMax[1];
  if (faults.addressesMax && topics[2]?.length > faults.addressesMax[0])
    throw faults.addressesMax[1];
  const logs = (await rpc('eth_getLogs', [filter])) as any[];
  if (faults.logsMax && logs.length > faults.logsMax[0]) throw faults.logsMax[1];
  const known =
    (await headOf(rpc)) - BigInt(faults.headWithoutLogs ? 1 : (faults.lag ?? faults.behind ?? 0));
  const kept = logs.filter(({ blockNumber }) => {
    const height = BigInt(blockNumber);
    return height <= known && height !== faults.gap;
  });
  const { invents } = faults;
  const isAsked =
    invents && invents.height >= BigInt(fromBlock) && invents.height <= BigInt(toBlock);
  return isAsked && topics[2]?.includes(topicOf(invents.to))
    ? [...kept, await inventedLog(rpc, invents)]
    : kept;
}

const inventedHash = `0x${'f0'.repeat(32)}`;

async function inventedLog(rpc: Rpc, { token, to, units, height }: NonNullable<Faults['invents']>) {
  const { hash } = (await rpc('eth_getBlockByNumber', [hexOf(height), false])) as { hash: string };
  return {
    address: token,
    topics: [transferTopic, topicOf(`0x${'fa'.repeat(20)}`), topicOf(to)],
    data: wordOf(units),
    blockNumber: hexOf(height),
    blockHash: hash,
    transactionHash: inventedHash,
    logIndex: '0x9',
    removed: false,
  };
}

async function headOf(rpc: Rpc): Promise<bigint> {
  return BigInt((await rpc('eth_blockNumber')) as string);
}
