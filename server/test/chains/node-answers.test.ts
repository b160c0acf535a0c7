import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { openRpc, RpcError } from '../../src/chains/rpc.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { withBooks } from '../kit/with-database.ts';
import { inShare } from '../kit/long.ts';
import { bodyOf, serveHttp } from '../lib/local-server.ts';
import { chain, keyOf, usdt } from '../operations/deposits-kit.ts';
import { nodeAnswers, Refusal, type NodeAnswer } from './node-answers.ts';
import { playWorld, type PlayWorld } from './play-kit.ts';
import {
  availableTo,
  forgetChains,
  liveChain,
  payer,
  readerOf,
  readNow,
  seenBy,
  statesOf,
  type Payer,
} from './scene.ts';

/** Each node's way to answer is played through the reader, beside a second chain. */

const fetch = createFetch({ guard: false });
const key = keyOf('evm');
const units = 5n * 10n ** 18n;
const file = { ...chain, finality: 'finalized' as const };
const other = { ...chain, name: 'other', chain_id: 8 };
after(() => fetch.close());
const { db } = withBooks();
beforeEach(() => forgetChains(db));

async function serveAnswers({ play, head }: PlayWorld, way: NodeAnswer) {
  const counts = new Map<string, number>();
  const server = await serveHttp(async (req, res) => {
    const { id, method, params } = JSON.parse(await bodyOf(req));
    const count = (counts.get(method) ?? 0) + 1;
    counts.set(method, count);
    const result = await play.rpc(method, params).catch((error: RpcError) => error);
    assert.ok(!(result instanceof Error), String(result));
    const given = way.gives({ method, params, answer: result, count, head: head() });
    const reply = { jsonrpc: '2.0', id, ...(given instanceof Refusal ? given : { result: given }) };
    res.end(JSON.stringify(way.replies?.(reply) ?? reply));
  });
  return { rpc: openRpc(fetch, { url: server.url }), close: () => server.close() };
}

/** Two transactions in one block, the second with equal payments; then a crowd, and a last payment. */
function payAll({ play, mine }: PlayWorld, [one, two, three]: Payer[]): void {
  const send = (to: Payer, tx_hash?: string) =>
    play.pay({ token: usdt, to: to.address, units, ...(tx_hash && { tx_hash }) });
  send(one!);
  const tx_hash = send(two!);
  for (const to of [three!, two!]) send(to, tx_hash);
  mine(30);
  for (let i = 0; i < 1_200; i++) {
    play.pay({ token: usdt, to: two!.address, units: 10n ** 13n });
    if (i % 50 === 0) mine();
  }
  send(three!);
  mine(60);
}

async function history(way: NodeAnswer) {
  const world = playWorld(100, file);
  const beside = playWorld(100, other);
  const payers = await Promise.all([1, 2, 3].map(() => payer(db, key)));
  const node = await serveAnswers(world, way);
  const live = [liveChain(file, [node.rpc]), liveChain(other, [beside.play.rpc])];
  const job = readerOf(db, ...live);
  await readNow(db, job, file.name);
  payAll(world, payers);
  beside.play.pay({ token: usdt, to: payers[0]!.address, units });
  beside.mine(5);
  const read = () => readNow(db, job, file.name);
  const balances = () => Promise.all(payers.map((who) => availableTo(db, who)));
  const states = async () => (await Promise.all(payers.map((who) => statesOf(db, who)))).flat();
  const seen = async () => (await Promise.all(payers.map((who) => seenBy(db, who)))).flat();
  return { world, node, read, balances, states, seen };
}

const all = [10_000_000n, 10_000_000n, 10_000_000n];
const credited = (count: number) => Array.from({ length: count }, () => 'credited');

describe('every deposit is credited once', () => {
  for (const way of inShare(3, nodeAnswers))
    test(`by ${way.node} (${way.from})`, async () => {
      const { world, node, read, balances, states, seen } = await history(way);
      try {
        if (way.told) {
          for (const _ of [1, 2, 3]) assert.match((await read()).last_error!, way.told);
          assert.deepEqual([await balances(), await states()], [[5_000_000n, 0n, 0n], credited(1)]);
          return;
        }
        for (let i = 0; i < (way.reads ?? 1); i++) {
          const row = await read();
          if (i === (way.reads ?? 1) - 1)
            assert.deepEqual([row.failures, row.last_error], [0, null]);
        }
        if (way.isLate)
          for (const blocks of [3_000, 1_300, 300]) {
            world.mine(blocks);
            await read();
          }
        assert.deepEqual([await balances(), await states()], [all, credited(6)]);
        world.mine(5);
        await read();
        assert.deepEqual([await balances(), await states()], [all, credited(6)]);
        assert.deepEqual(await seen(), []);
      } finally {
        await node.close();
      }
    });
});
