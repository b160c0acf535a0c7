import { hexOf } from '../../src/chains/wire.ts';

/**
 * How real nodes and services answer otherwise than the specification says: how they number logs,
 * repeat them, leave them out and lag, as their users have reported it.
 */

export interface NodeQuestion {
  method: string;
  params: readonly any[];
  /** The answer of a node without faults. */
  answer: any;
  /** How often this method was called, this call included. */
  count: number;
  /** The newest block. */
  head: bigint;
}

/** A JSON-RPC error that takes the place of an answer. */
export class Refusal {
  readonly error: object;

  constructor(code: number, message: string) {
    this.error = { code, message };
  }
}

export interface NodeAnswer {
  node: string;
  /** A public issue, or the project whose source says so. */
  from: string;
  /** Changes the answers, or puts a `Refusal` in their place. */
  gives: (asked: NodeQuestion) => unknown;
  /** Changes the whole reply. */
  replies?: (reply: Record<string, unknown>) => unknown;
  /** Reads until all is credited. Default: 1. */
  reads?: number;
  /** The deposit is found by the second reading of its block, about an hour later. */
  isLate?: true;
  /** The words that the operator reads, if the chain cannot be read. */
  told?: RegExp;
}

type Change = (log: any, i: number) => any;
const ofLogs =
  (change: (logs: any[]) => unknown) =>
  ({ method, answer }: NodeQuestion) =>
    method === 'eth_getLogs' ? change(answer) : answer;
const ofReceipts =
  (change: (receipt: any) => unknown) =>
  ({ method, answer }: NodeQuestion) =>
    method === 'eth_getTransactionReceipt' && answer !== null ? change(answer) : answer;
const eachOf = (change: Change) => (logs: any[]) => logs.map(change);
const everywhere = (change: Change) => (asked: NodeQuestion) =>
  ofReceipts((receipt) => ({ ...receipt, logs: receipt.logs.map(change) }))({
    ...asked,
    answer: ofLogs(eachOf(change))(asked),
  });
const numbered = (number: bigint) => (log: any) => ({ ...log, logIndex: hexOf(number) });
const ofTag =
  (change: (asked: NodeQuestion) => unknown) =>
  (asked: NodeQuestion): unknown =>
    asked.params[0] === 'finalized' ? change(asked) : asked.answer;
const beyondHead =
  (lag: bigint, refusal: Refusal) =>
  ({ method, params, answer, head }: NodeQuestion) =>
    method === 'eth_getLogs' && BigInt(params[0].toBlock) > head - lag ? refusal : answer;
const cutAt = (most: number) => ofLogs((logs) => logs.slice(0, most));
/** Changes each text in an answer. */
const changed = (answer: any, change: (text: string) => unknown): any => {
  if (typeof answer === 'string') return change(answer);
  if (Array.isArray(answer)) return answer.map((each) => changed(each, change));
  if (typeof answer !== 'object' || answer === null) return answer;
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [name, changed(value, change)]),
  );
};
/** Writes all numbers otherwise; hashes, addresses and amounts have a fixed length. */
const inNumbers = (write: (number: bigint) => unknown) => (asked: NodeQuestion) =>
  changed(asked.answer, (text) =>
    /^0x[0-9a-f]{1,16}$/i.test(text) || asked.method === 'eth_call' ? write(BigInt(text)) : text,
  );
const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`;

export const nodeAnswers: readonly NodeAnswer[] = [
  {
    node: 'Erigon, one number for several logs',
    from: 'erigontech/erigon#15219',
    gives: everywhere(numbered(0n)),
  },
  {
    node: 'Aleth, the number 0 for all logs',
    from: 'ethereum/aleth#4147',
    gives: ofLogs(eachOf(numbered(0n))),
  },
  {
    node: 'Lotus, other numbers in logs than in receipts',
    from: 'filecoin-project/lotus#12254',
    gives: ofLogs(eachOf((log) => numbered(BigInt(log.logIndex) + 1n)(log))),
  },
  {
    node: 'Lotus, numbers that are not unique',
    from: 'filecoin-project/lotus#12549',
    gives: everywhere((log) => numbered(BigInt(log.logIndex) / 2n)(log)),
  },
  {
    node: 'Polygon Edge, receipts that number from 0',
    from: '0xPolygon/polygon-edge#1576',
    gives: ofReceipts((receipt) => ({
      ...receipt,
      logs: receipt.logs.map((log: any, i: number) => numbered(BigInt(i))(log)),
    })),
  },
  {
    node: 'SKALE, receipts whose logs all have the number 0',
    from: 'skalenetwork/skaled#1907',
    gives: ofReceipts((receipt) => ({ ...receipt, logs: receipt.logs.map(numbered(0n)) })),
  },
  {
    node: 'Flow, receipts without numbers of the block',
    from: 'onflow/flow-evm-gateway#461',
    gives: ofReceipts((receipt) => ({
      ...receipt,
      logs: receipt.logs.map((log: any, i: number) => numbered(BigInt(i) + 9n)(log)),
    })),
  },
  {
    node: 'Filecoin, logs that come twice',
    from: 'filecoin-project/ref-fvm#1350',
    gives: ofLogs((logs) => [...logs, ...logs]),
  },
  {
    node: 'Darwinia, logs that come again under another number',
    from: 'darwinia-network/darwinia#1649',
    gives: ofLogs((logs) => logs.flatMap((log, i) => [log, numbered(BigInt(i) + 50n)(log)])),
  },
  {
    node: 'XDPoS, logs with another hash of their block',
    from: 'XinFinOrg/XDPoSChain#650',
    gives: ofLogs(eachOf((log) => ({ ...log, blockHash: `0x${'c4'.repeat(32)}` }))),
  },
  {
    node: 'Lotus, logs that were removed',
    from: 'filecoin-project/lotus#12584',
    gives: ofLogs((logs) =>
      logs.flatMap((log) => [{ ...log, blockHash: `0x${'c4'.repeat(32)}`, removed: true }, log]),
    ),
  },
  {
    node: 'Anvil, logs of replaced blocks that are not marked',
    from: 'foundry-rs/foundry#15670',
    gives: ofLogs((logs) =>
      logs.flatMap((log) => [{ ...log, blockHash: `0x${'c4'.repeat(32)}` }, log]),
    ),
  },
  {
    node: 'a node that has the newest logs first',
    from: 'ethereum/aleth ClientBase::prependLogsFromBlock',
    gives: ofLogs((logs) => logs.toReversed()),
  },
  {
    node: 'a node that writes addresses with capitals and hashes in capitals',
    from: 'EIP-55',
    gives: everywhere((log) => ({
      ...log,
      address: upper(log.address),
      transactionHash: upper(log.transactionHash),
      topics: log.topics.map(upper),
      data: upper(log.data),
    })),
  },
  {
    node: 'a node that pads its numbers',
    from: 'rsksmart/rskj, status 0x01',
    gives: ofReceipts((receipt) => ({ ...receipt, status: '0x01' })),
  },
  {
    node: 'Hedera, numbers of logs and blocks as numbers of JSON',
    from: 'hiero-ledger/hiero-json-rpc-relay#303, #337',
    gives: everywhere((log) => ({
      ...log,
      blockNumber: Number(log.blockNumber),
      logIndex: Number(log.logIndex),
    })),
  },
  {
    node: 'Ganache, the status as a number',
    from: 'ConsenSys-archive/ganache-cli-archive#451',
    gives: ofReceipts((receipt) => ({ ...receipt, status: 1 })),
  },
  {
    node: 'a library before the node, the status as true or false',
    from: 'likecoin/likecoin-tx-poll#23',
    gives: ofReceipts((receipt) => ({ ...receipt, status: true })),
  },
  {
    node: 'old nodes, every number as a number of JSON',
    from: 'smartcontractkit/chainlink-evm#289',
    gives: inNumbers((number) => Number(number)),
  },
  {
    node: 'a service that writes every number in decimal digits',
    from: 'scrtlabs/enigma-core#195',
    gives: inNumbers((number) => String(number)),
  },
  {
    node: 'a node whose numbers begin with 0X and zeros',
    from: 'ConsenSys-archive/ganache#73',
    gives: inNumbers((number) => `0X${number.toString(16).toUpperCase().padStart(16, '0')}`),
  },
  {
    node: 'Zilliqa, hashes, addresses and amounts without 0x',
    from: 'Zilliqa/zq1#3764',
    gives: (asked) =>
      asked.method === 'eth_call'
        ? asked.answer
        : changed(asked.answer, (text) => (text.length < 42 ? text : text.slice(2))),
  },
  {
    node: 'Geth, logs 3 blocks behind the newest block',
    from: 'ethereum/execution-apis#875',
    gives: beyondHead(3n, new Refusal(-32602, 'block range extends beyond current head block')),
  },
  {
    node: 'Erigon, logs 40 blocks behind the newest block',
    from: 'ethereum/execution-apis#875',
    gives: beyondHead(40n, new Refusal(-32602, 'block range extends beyond the latest block')),
  },
  {
    node: 'Besu, logs 25 blocks behind the newest block',
    from: 'ethereum/execution-apis#534',
    gives: beyondHead(25n, new Refusal(-32000, 'Block not found')),
  },
  {
    node: 'Ethrex, logs of the newest block',
    from: 'ethereum/execution-apis#875',
    gives: beyondHead(1n, new Refusal(-32603, 'Internal Error')),
  },
  {
    node: 'Alchemy, 100 logs and no word about the rest',
    from: 'ethers-io/ethers.js#1389',
    gives: cutAt(100),
  },
  {
    node: 'Blockscout, 1,000 logs and no word about the rest',
    from: 'blockscout/blockscout#13844',
    gives: cutAt(1_000),
  },
  {
    node: 'SmartBCH, null for no logs',
    from: 'smartbch/smartbch#67',
    gives: ofLogs((logs) => (logs.length === 0 ? null : logs)),
  },
  {
    node: 'Reth, no final block after its start',
    from: 'paradigmxyz/reth#9105',
    gives: ofTag(({ count, answer }) =>
      count < 5 ? new Refusal(-39001, 'unknown block') : answer,
    ),
    reads: 4,
  },
  {
    node: 'BSC Erigon, no final block at all',
    from: 'node-real/bsc-erigon#376',
    gives: ofTag(() => new Refusal(-39001, 'Unknown block')),
    told: /eth_getBlockByNumber: -39001 Unknown block/,
  },
  {
    node: 'RSK, a tag that it does not know',
    from: 'rsksmart/rskj#3309',
    gives: ofTag(() => new Refusal(-32603, 'Internal server error')),
    told: /eth_getBlockByNumber: -32603 Internal server error/,
  },
  {
    node: 'Blockscout, hex digits without 0x',
    from: 'blockscout/blockscout#9419',
    gives: ({ method, answer }) =>
      method === 'eth_blockNumber' ? 'f00' : method === 'eth_getBlockByNumber' ? null : answer,
    told: /a height is missing or malformed/,
  },
  {
    node: 'Infura, receipts that come later',
    from: 'INFURA/infura#30',
    gives: ({ method, answer, count }) =>
      method === 'eth_getTransactionReceipt' && count < 4 ? null : answer,
    reads: 4,
  },
  {
    node: 'Geth behind a balancer, newest blocks that are gone again',
    from: 'ethereum/go-ethereum#24078',
    gives: ({ method, answer, count }) =>
      method === 'eth_blockNumber' && count % 2 === 1 ? hexOf(BigInt(answer) - 20n) : answer,
    reads: 3,
  },
  {
    node: 'Filecoin behind a balancer, logs in some of its answers',
    from: 'filecoin-project/ref-fvm#1350',
    gives: ({ method, answer, count }) => (method === 'eth_getLogs' && count < 4 ? [] : answer),
    isLate: true,
  },
  {
    node: 'a limit of calls in a reply of 200',
    from: 'reown-com/blockchain-api#1102',
    gives: ({ method, answer, count }) =>
      method === 'eth_getLogs' && count > 1 && count < 4
        ? new Refusal(-32029, 'rate limit exceeded')
        : answer,
    reads: 4,
  },
  {
    node: 'Base, a reply within a reply',
    from: 'base/node#368',
    gives: ({ method, answer, count }) =>
      method === 'eth_getBlockByNumber' && count > 3 && count < 6
        ? new Refusal(
            -32000,
            '429 Too Many Requests: {"jsonrpc":"2.0","error":{"code":-32016,"message":"over rate limit"},"id":2239375}\n',
          )
        : answer,
    reads: 4,
  },
  {
    node: 'Tenderly, numbers of calls as text',
    from: 'fluencelabs/dev-rewards#20',
    gives: ({ answer }) => answer,
    replies: (reply) => ({ ...reply, id: String(reply.id) }),
  },
];
