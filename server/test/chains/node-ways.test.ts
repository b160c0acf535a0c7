import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, beforeEach, describe, test } from 'node:test';
import { openRpc, RpcError, type Rpc } from '../../src/chains/rpc.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { before, withBooks } from '../kit/with-database.ts';
import { inShare } from '../kit/long.ts';
import { bodyOf, serveHttp } from '../lib/local-server.ts';
import { chain, keyOf, usdt } from '../operations/deposits-kit.ts';
import { nodeWays, type NodeWay } from './node-ways.ts';
import { playWorld } from './play-kit.ts';
import {
  availableTo,
  forgetChains,
  liveChain,
  payer,
  readerOf,
  readNow,
  statesOf,
} from './scene.ts';

/** Each node's way is played through the reader, beside a second chain. */

const fetch = createFetch({ guard: false });
const key = keyOf('evm');
const units = 5n * 10n ** 18n;
const other = { ...chain, name: 'other', chain_id: 8 };
after(() => fetch.close());
const { db } = withBooks();
beforeEach(() => forgetChains(db));

interface LogsQuestion {
  blocks: number;
  addresses: number;
}

/** The chain as this node serves it. `asked`: its questions for logs. */
async function serveWay(rpc: Rpc, way: NodeWay) {
  const asked: LogsQuestion[] = [];
  const server = await serveHttp(async (req, res) => {
    const { id, method, params } = JSON.parse(await bodyOf(req));
    const result = await rpc(method, params).catch((error: RpcError) => error);
    if (method === 'eth_getLogs') {
      const [{ fromBlock, toBlock, topics }] = params;
      const blocks = Number(BigInt(toBlock) - BigInt(fromBlock)) + 1;
      const size = { blocks, addresses: topics[2].length };
      asked.push(size);
      const count = Array.isArray(result) ? result.length : 0;
      if (isRefused(way, size, count, asked.length)) return refuse(res, way, id, result);
    }
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  return { rpc: openRpc(fetch, { url: server.url }), asked, close: () => server.close() };
}

function isRefused({ refuses }: NodeWay, size: LogsQuestion, logs: number, calls: number): boolean {
  if (refuses === 'all') return true;
  if ('calls' in refuses) return calls > 1 && calls <= 1 + refuses.calls;
  if ('logs' in refuses) return logs > refuses.logs;
  if ('work' in refuses) return size.blocks * size.addresses > refuses.work;
  return 'blocks' in refuses ? size.blocks > refuses.blocks : size.addresses > refuses.addresses;
}

function refuse(res: ServerResponse, way: NodeWay, id: number, result: unknown): void {
  const { status = 200, headers, error, form } = way;
  if (error === null) return void res.destroy();
  res.writeHead(status, headers);
  if (form === 'half of the reply')
    return void res.end(JSON.stringify({ jsonrpc: '2.0', id, result }).slice(0, -2));
  if (typeof error === 'string') return void res.end(error);
  const body = {
    jsonrpc: '2.0',
    id,
    error,
    ...(form === 'with a result of null' && { result: null }),
  };
  res.end(JSON.stringify(form === 'a list of one' ? [body] : body));
}

/** About 1,200 blocks for at most 220 addresses, twice as often as needed, and what is tried first. */
function boundOf({ refuses }: NodeWay): number {
  const { blocks = 400, addresses = 220 } = refuses as Partial<LogsQuestion>;
  const pieces = Math.ceil(1_200 / blocks) * Math.ceil(220 / addresses);
  return 2 * pieces + 60;
}

/** Three accounts pay, with 400 blocks between the payments. */
async function history(way: NodeWay) {
  const world = playWorld(100);
  const beside = playWorld(100, other);
  const payers = await Promise.all([1, 2, 3].map(() => payer(db, key)));
  const node = await serveWay(world.play.rpc, way);
  const job = readerOf(db, liveChain(chain, [node.rpc]), liveChain(other, [beside.play.rpc]));
  await readNow(db, job, chain.name);
  for (const { address } of payers) {
    world.play.pay({ token: usdt, to: address, units });
    beside.play.pay({ token: usdt, to: address, units });
    world.mine(400);
    beside.mine(4);
  }
  const read = () => readNow(db, job, chain.name);
  const balances = () => Promise.all(payers.map((who) => availableTo(db, who)));
  const states = async () => (await Promise.all(payers.map((who) => statesOf(db, who)))).flat();
  return { node, read, balances, states };
}

describe('a chain is read through', () => {
  before(async () => {
    for (let i = 0; i < 40; i++) await payer(db, key);
  });
  for (const way of inShare(2, nodeWays))
    test(`${way.node} (${way.from})`, async () => {
      const { node, read, balances, states } = await history(way);
      try {
        if (way.told) {
          const { asked } = node;
          for (const _ of [1, 2, 3]) {
            asked.length = 0;
            const { last_error, failures } = await read();
            assert.match(last_error!, way.told);
            assert.ok(failures > 0);
            assert.ok(asked.length <= 3, `${asked.length} calls for nothing`);
          }
          assert.deepEqual(await balances(), [5_000_000n, 5_000_000n, 5_000_000n]);
          assert.deepEqual(await states(), ['credited', 'credited', 'credited']);
          return;
        }
        let row = await read();
        for (let reads = 1; row.failures > 0 && reads < 4; reads++) row = await read();
        assert.deepEqual([row.failures, row.last_error], [0, null]);
        assert.deepEqual(await balances(), [10_000_000n, 10_000_000n, 10_000_000n]);
        await read();
        assert.deepEqual(
          await states(),
          Array.from({ length: 6 }, () => 'credited'),
        );
        assert.ok(node.asked.length < boundOf(way), `${node.asked.length} questions`);
      } finally {
        await node.close();
      }
    });
});
