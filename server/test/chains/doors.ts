import { openRpc, RpcError, type Rpc } from '../../src/chains/rpc.ts';
import type { Chain } from '../../src/core/deposit/chain.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { chain, usdt } from '../operations/deposits-kit.ts';
import { playWorld, withFaults, type Faults } from './play-kit.ts';
import { serveRpc } from './rpc-server.ts';
import { solidAfter, tronDoor } from './tron-door.ts';

/** A kind of endpoint of a chain. Every deposit case runs with every door. */
export interface Door {
  name: string;
  chain: Chain;
  /** Blocks between the newest one and the newest final one. */
  finalAfter: number;
  words: Words;
  open(file: Chain): Promise<ChainWorld>;
}

/** Texts with which real services of this kind refuse a call. */
interface Words {
  blocks: (most: number) => RpcError;
  addresses: (most: number) => RpcError;
  logs: (most: number) => RpcError;
  rate: RpcError;
}

/** A chain whose blocks the test makes. */
export interface ChainWorld {
  /** Makes a block with one transaction of these transfers. Returns the transaction's hash. */
  pay(...payments: Payment[]): Promise<string>;
  mine(count?: number): Promise<void>;
  /** Replaces the newest blocks. */
  reorg(depth: number, payments: 'paid later' | 'dropped'): Promise<void>;
  head(): Promise<bigint>;
  /** Opens an endpoint with these faults, which may be changed later. */
  endpoint(faults?: Faults): Promise<Rpc>;
  close(): Promise<void>;
}

export interface Payment {
  token: string;
  to: string;
  units: bigint;
  /** The hash of its transaction, if the chain lets a test choose it. */
  tx_hash?: string;
}

const refusal = (code: number, text: string) => new RpcError('eth_getLogs', code, text);
const usdt6 = { symbol: 'USDT', address: usdt, decimals: 6, credit: true };
const tokens = [usdt6, ...chain.tokens.slice(1)];

export const doors: readonly Door[] = [
  {
    name: 'the play chain',
    chain,
    finalAfter: 3,
    words: {
      blocks: (most) => refusal(-32602, `range ${most + 1} exceeds limit of ${most}`),
      addresses: () => refusal(-32000, 'exceed max addresses or topics per search position'),
      logs: (most) => refusal(-32005, `query returned more than ${most} results`),
      rate: refusal(429, 'too many requests'),
    },
    open: (file) => openPlay(file, (rpc) => Promise.resolve({ rpc, close: async () => {} })),
  },
  {
    name: 'JSON-RPC over HTTP',
    chain: { ...chain, name: 'http', chain_id: 8, finality: 'finalized', tokens },
    finalAfter: 1,
    words: {
      blocks: (most) =>
        refusal(-32600, `You can make eth_getLogs requests with up to a ${most} block range.`),
      addresses: (most) => refusal(-32602, `a maximum of ${most} parameters is allowed`),
      logs: () => refusal(413, 'the reply is too large'),
      rate: refusal(503, '<html>Service Unavailable</html>'),
    },
    open: (file) => openPlay(file, overHttp),
  },
  {
    name: "TRON's door",
    chain: {
      ...chain,
      name: 'tron',
      family: 'tron',
      chain_id: 0x2b6653dc,
      finality: 'finalized',
      tokens,
    },
    finalAfter: solidAfter,
    words: {
      blocks: (most) => refusal(-32602, `exceed max block range: ${most}`),
      addresses: (most) => refusal(-32602, `exceed max topics: ${most}`),
      logs: (most) => refusal(-32005, `query returned more than ${most} results`),
      rate: refusal(
        403,
        '{"Error":"The key exceeds the frequency limit(15), and the query server is suspended for 30s"}',
      ),
    },
    open: (file) => openPlay(file, overHttp, tronDoor),
  },
];

interface OpenedRpc {
  rpc: Rpc;
  close(): Promise<void>;
}

async function openPlay(
  file: Chain,
  expose: (rpc: Rpc) => Promise<OpenedRpc>,
  speak: (rpc: Rpc) => Rpc = (rpc) => rpc,
): Promise<ChainWorld> {
  const { play, mine, head } = playWorld(100, file);
  const rpc = speak(play.rpc);
  const opened: OpenedRpc[] = [];
  return {
    async pay(first, ...more) {
      const tx_hash = play.pay(first!);
      for (const each of more) play.pay({ ...each, tx_hash });
      return tx_hash;
    },
    mine: async (count) => mine(count),
    reorg: async (depth, payments) => play.reorg(depth, payments),
    head: async () => head(),
    async endpoint(faults = {}) {
      const each = await expose(withFaults(rpc, faults));
      opened.push(each);
      return each.rpc;
    },
    async close() {
      await Promise.all(opened.map((each) => each.close()));
    },
  };
}

async function overHttp(rpc: Rpc): Promise<OpenedRpc> {
  const fetch = createFetch({ guard: false });
  const server = await serveRpc(rpc);
  return {
    rpc: openRpc(fetch, { url: server.url }),
    async close() {
      await fetch.close();
      await server.close();
    },
  };
}
