import { endpointVariable, type Chain } from '../core/deposit/chain.ts';
import { isObject, type Json } from '../lib/json.ts';
import { messageOf } from '../lib/unknown.ts';
import { QuestionLimits, type QuestionSize } from './limits.ts';
import type { ChainEndpoint } from './noted.ts';
import { demandSetting, WrongSetting, type ChainEndpoints } from './read-chain.ts';
import { RpcError, type Rpc } from './rpc.ts';
import { isSuccessful } from './receipts.ts';
import { readBlock, readFinal, readHead, type ChainBlock } from './scan.ts';
import { hexOf, quantity, symbolCall, textOf, topicOf, transferTopic, word } from './wire.ts';

/** Asks the endpoints of a chain whether they fit its file, with calls that change nothing. */

export interface CheckLine {
  /** 1 or 2; null: a comparison of the two. */
  endpoint: number | null;
  ok: boolean;
  /** The finding, or the problem and what to do. */
  text: string;
}

/** Longer than any of the shipped chains takes until a block is final. */
const lateSeconds = 1800;

export async function checkChain(
  chain: Chain,
  endpoints: ChainEndpoints,
  randomAddresses: readonly string[],
): Promise<CheckLine[]> {
  const lines: CheckLine[] = [];
  const finals: ChainBlock[] = [];
  for (const [i, endpoint] of endpoints.entries()) {
    const found = await checkEndpoint(
      chain,
      endpoint,
      i === 0 ? 'first' : 'second',
      randomAddresses,
    );
    lines.push(...found.lines.map((line) => ({ endpoint: i + 1, ...line })));
    if (found.final) finals.push(found.final);
  }
  const [, second] = endpoints;
  if (!second) {
    const text = `There is one endpoint, so nothing confirms what it says. Set a second one of another provider in ${endpointVariable(chain.name)}.`;
    return [...lines, { endpoint: null, ok: true, text }];
  }
  const [one, two] = finals;
  if (!one || !two) return lines;
  const height = one.height < two.height ? one.height : two.height;
  const compared = await tryCheck(() => compare(chain, endpoints, height));
  return [...lines, { endpoint: null, ...compared }];
}

type Line = Omit<CheckLine, 'endpoint'>;

async function checkEndpoint(
  chain: Chain,
  { rpc, limits }: ChainEndpoint,
  which: 'first' | 'second',
  addresses: readonly string[],
): Promise<{ lines: Line[]; final: ChainBlock | null }> {
  const lines: Line[] = [];
  const add = async (work: () => Promise<Line | string>) => {
    const line = await tryCheck(work);
    lines.push(line);
    return line.ok;
  };
  const isOfChain = await add(async () => {
    await demandSetting(chain, { rpc, limits }, which);
    return `chain id ${chain.chain_id}, and decimals as in the chain file`;
  });
  if (!isOfChain) return { lines, final: null };
  for (const token of chain.tokens) await add(() => describeSymbol(rpc, token));
  let final: ChainBlock | null = null;
  await add(async () => {
    const head = await readHead(rpc);
    final = await readFinal(rpc, chain, head);
    return finalLine(chain, head, final);
  });
  const block = final as ChainBlock | null;
  if (block === null) return { lines, final };
  await add(() => checkLogs(chain, rpc, block, addresses));
  await add(() => checkReceipt(chain, rpc, block));
  return { lines, final };
}

async function describeSymbol(
  rpc: Rpc,
  { symbol, address, decimals }: Chain['tokens'][number],
): Promise<string> {
  const called = textOf(await rpc('eth_call', [{ to: address, data: symbolCall }, 'latest']));
  return `${symbol}: ${decimals} decimals; its contract calls it ${called ?? 'nothing'}`;
}

function finalLine(
  { finality, name }: Chain,
  head: bigint,
  final: ChainBlock | null,
): Line | string {
  if (final === null)
    return wrong(
      `it does not know the final block. Use another endpoint, or set finality in the chain file ${name} to {confirmations: N}.`,
    );
  const seconds = Math.round((Date.now() - final.at.getTime()) / 1000);
  const how = finality === 'finalized' ? 'by its own word' : 'by counting blocks';
  const text = `newest block ${head}, final block ${final.height} ${how}, ${seconds} s old`;
  return seconds < lateSeconds
    ? text
    : wrong(
        `${text}. Deposits are credited that late. Use another endpoint, unless the chain itself is late.`,
      );
}

/** Asks smaller and smaller questions, to find out how many blocks and addresses one may have. */
async function checkLogs(
  { tokens }: Chain,
  rpc: Rpc,
  { height }: ChainBlock,
  addresses: readonly string[],
): Promise<string> {
  const limits = new QuestionLimits();
  const ask = (size: QuestionSize) => {
    const from = height - BigInt(size.blocks) + 1n;
    const topics = [transferTopic, null, addresses.slice(0, size.addresses).map(topicOf)];
    return readLogs(rpc, tokens, from < 0n ? 0n : from, height, topics);
  };
  for (;;) {
    const size = {
      blocks: limits.blocks,
      addresses: Math.min(limits.addresses, addresses.length),
    };
    try {
      await ask(size);
      return `answers eth_getLogs for ${size.blocks} blocks and ${size.addresses} addresses at once`;
    } catch (error) {
      const refusal = await limits.shrink(error, size, ask);
      if (refusal) throw refusal;
    }
  }
}

/** Without its receipt, a deposit is never credited. */
async function checkReceipt(
  chain: Chain,
  rpc: Rpc,
  { height }: ChainBlock,
): Promise<Line | string> {
  const [log] = await readLogs(rpc, chain.tokens, height, height, [transferTopic]);
  if (!log) return `block ${height} has no transfer, so no receipt was asked for`;
  const receipt = await rpc('eth_getTransactionReceipt', [log.transactionHash]);
  if (isObject(receipt) && isSuccessful(receipt)) return 'knows the receipts of transactions';
  return wrong(
    'it has a transfer, but not the receipt of its transaction, so no deposit would be credited. Use another endpoint.',
  );
}

async function compare(
  chain: Chain,
  endpoints: ChainEndpoints,
  height: bigint,
): Promise<Line | string> {
  const [one, two] = await Promise.all(
    endpoints.map(async ({ rpc }) => {
      const block = await readBlock(rpc, height);
      const logs = await readLogs(rpc, chain.tokens, height, height, [transferTopic]);
      const places = logs.map(
        ({ transactionHash, logIndex }) =>
          `${word(transactionHash, 'a transaction hash')} ${quantity(logIndex, 'a number')}`,
      );
      return { hash: block?.hash, count: places.length, places: places.toSorted().join() };
    }),
  );
  if (one!.hash !== two!.hash)
    return wrong(
      `the endpoints disagree about block ${height}, so no deposit would be credited. Find out which of them is of another chain, and replace it.`,
    );
  if (one!.places !== two!.places)
    return wrong(
      `of the final block ${height}, one endpoint has ${one!.count} transfers and the other ${two!.count}. The endpoint with fewer transfers leaves some out: replace it.`,
    );
  return `both endpoints have the same final block ${height}, with ${one!.count} transfers`;
}

async function readLogs(
  rpc: Rpc,
  tokens: Chain['tokens'],
  from: bigint,
  to: bigint,
  topics: readonly unknown[],
): Promise<Json[]> {
  const address = tokens.map((token) => token.address);
  const range = { fromBlock: hexOf(from), toBlock: hexOf(to) };
  const logs = await rpc('eth_getLogs', [{ address, ...range, topics }]);
  if (Array.isArray(logs) && logs.every(isObject)) return logs;
  throw new RpcError('eth_getLogs', null, 'the answer is not a list of logs');
}

async function tryCheck(work: () => Promise<Line | string>): Promise<Line> {
  try {
    const found = await work();
    return typeof found === 'string' ? { ok: true, text: found } : found;
  } catch (error) {
    if (error instanceof WrongSetting) return wrong(error.message);
    return wrong(`${messageOf(error)}. Check the address and the key, or use another endpoint.`);
  }
}

function wrong(text: string): Line {
  return { ok: false, text };
}
