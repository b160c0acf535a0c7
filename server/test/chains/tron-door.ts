import { RpcError, type Rpc } from '../../src/chains/rpc.ts';
import { hexOf } from '../../src/chains/wire.ts';

/**
 * The JSON-RPC of java-tron in front of a chain: its limits, error texts and differences, as in its
 * source.
 */

/** Blocks between the newest block and the solid block, on which most producers have built. */
export const solidAfter = 19;
const blocksMax = 5_000n;
const topicsMax = 1_000;
const logsMax = 10_000;

export function tronDoor(rpc: Rpc): Rpc {
  return async (method, params = []) => {
    const refuse = (code: number, text: string): never => {
      throw new RpcError(method, code, text);
    };
    if (params.includes('pending')) refuse(-32602, 'TAG pending not supported');
    const head = BigInt((await rpc('eth_blockNumber')) as string);
    const [first, ...more] = params;
    if (method === 'eth_getBlockByNumber' && first === 'finalized')
      return asOfTron(await rpc(method, [hexOf(head - BigInt(solidAfter)), ...more]));
    if (method !== 'eth_getLogs') return asOfTron(await rpc(method, params));
    const { address, topics, fromBlock, toBlock } = first as any;
    for (const each of [address].flat())
      if (!/^(0x)?[0-9a-f]{40}$/i.test(each)) refuse(-32602, `invalid address: ${each}`);
    const [from, to] = [BigInt(fromBlock), BigInt(toBlock)];
    if (from > to) refuse(-32602, 'please verify: fromBlock <= toBlock');
    // java-tron compares the difference, so one block more than the limit passes.
    if (to - from > blocksMax) refuse(-32602, `exceed max block range: ${blocksMax}`);
    if (topics.some((topic: unknown) => Array.isArray(topic) && topic.length > topicsMax))
      refuse(-32602, `exceed max topics: ${topicsMax}`);
    const logs = (await rpc(method, params)) as unknown[];
    if (logs.length > logsMax) refuse(-32005, `query returned more than ${logsMax} results`);
    return asOfTron(logs);
  };
}

/** The answer as TRON gives it: a block's hash begins with its height. */
function asOfTron(answer: any): any {
  if (Array.isArray(answer)) return answer.map(asOfTron);
  if (answer === null || typeof answer !== 'object') return answer;
  const { number, hash, blockNumber, blockHash, logs } = answer;
  return {
    ...answer,
    ...(number && { hash: tronHash(number, hash), stateRoot: '0x' }),
    ...(blockNumber && { blockHash: tronHash(blockNumber, blockHash) }),
    ...(logs && { logs: logs.map(asOfTron) }),
  };
}

function tronHash(height: string, hash: string): string {
  return `0x${height.slice(2).padStart(16, '0')}${hash.slice(18)}`;
}
