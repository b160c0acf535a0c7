import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { RpcError, type Rpc } from '../../src/chains/rpc.ts';
import * as chains from '../../src/db/deposits/chains.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { cancelRescan, rescanChain } from '../../src/operations/deposits/rescan-chain.ts';
import { playWorld, type PlayWorld } from '../chains/play-kit.ts';
import {
  forgetChains,
  liveChain,
  payer,
  readerOf,
  readNow,
  statesOf,
  type Payer,
} from '../chains/scene.ts';
import { withBooks } from '../kit/with-database.ts';
import { chain, keyOf, usdt } from '../operations/deposits-kit.ts';

let world: PlayWorld;
let who: Payer;
const fromHead = { ...chain, start_height: null };
const { db } = withBooks();
beforeEach(async () => {
  await forgetChains(db);
  await db.run(rawSql('update chains set rescan_from = null, rescan_to = null'));
  world = playWorld(10_000);
  who = await payer(db, keyOf('evm'));
});

const pay = () => world.play.pay({ token: usdt, to: who.address, units: 5n * 10n ** 18n });
const read = (rpc: Rpc = world.play.rpc) =>
  readNow(db, readerOf(db, liveChain(fromHead, [rpc])), chain.name);
const states = () => statesOf(db, who);
const rescan = (from: bigint, to?: bigint) => rescanChain(db, chain.name, from, to);

describe('blocks that are read once more', () => {
  test('are these blocks only, in pieces, and each deposit is credited once', async () => {
    pay();
    world.mine(3_000);
    pay();
    world.mine(3_000);
    await read();
    pay();
    world.mine(5);
    await read();
    assert.deepEqual(await states(), ['credited']);

    const done = await rescan(10_001n, 12_500n);
    assert.deepEqual(done.details, { from: '10001', to: '12500' });
    const row = await read();
    assert.deepEqual([row.rescan_from, row.rescan_to, row.last_error], [null, null, null]);
    assert.deepEqual(await states(), ['credited', 'credited']);
    await rescan(0n, 99_999n);
    await read();
    assert.deepEqual(await states(), ['credited', 'credited', 'credited']);
    await rescan(0n);
    await read();
    assert.deepEqual(await states(), ['credited', 'credited', 'credited']);
  });

  test('that the endpoint has forgotten do not delay new deposits', async () => {
    await read();
    pay();
    world.mine(5);
    const forgetful: Rpc = (method, params) => {
      const asked = JSON.stringify(params ?? []);
      return method === 'eth_getLogs' && asked.includes('"fromBlock":"0x1"')
        ? Promise.reject(new RpcError(method, -32000, 'history has been pruned'))
        : world.play.rpc(method, params);
    };
    await rescan(1n, 9n);
    const failed = await read(forgetful);
    assert.deepEqual(await states(), ['credited']);
    assert.match(failed.last_error!, /^Blocks 1 to 9 could not be rescanned: .*pruned/);
    assert.deepEqual([failed.rescan_from, failed.rescan_to, failed.failures], [1n, 9n, 0]);
    assert.match(failed.last_error!, /"farebox deposit rescan play --cancel"/);
    await cancelRescan(db, chain.name);
    const given = await read(forgetful);
    assert.deepEqual([given.rescan_from, given.last_error], [null, null]);
    await rescan(1n, 9n);
    const row = await read();
    assert.deepEqual([row.rescan_from, row.last_error], [null, null]);
  });

  test('do not keep new deposits waiting, however long they take', async () => {
    await read();
    pay();
    world.mine(5);
    await rescan(1n, 9n);
    const meanwhile: [string[], boolean][] = [];
    const row = await read(async (method, params) => {
      if (method === 'eth_getLogs' && JSON.stringify(params).includes('"fromBlock":"0x1"')) {
        const [{ wake_at }] = (await chains.list(db)) as [chains.ChainRow];
        meanwhile.push([await states(), wake_at > new Date()]);
      }
      return world.play.rpc(method, params);
    });
    assert.deepEqual(meanwhile, [[['credited'], true]], 'and no other process begins');
    assert.deepEqual([row.rescan_from, row.failures, await states()], [null, 0, ['credited']]);
  });

  test('that are requested during a read are not forgotten', async () => {
    await read();
    world.mine(5);
    let isAsked = false;
    await read(async (method, params) => {
      if (method === 'eth_getLogs' && !isAsked) {
        isAsked = true;
        await rescan(1n, 9n);
      }
      return world.play.rpc(method, params);
    });
    const logs: unknown[] = [];
    await read((method, params) => {
      if (method === 'eth_getLogs') logs.push(params?.[0]);
      return world.play.rpc(method, params);
    });
    assert.ok(JSON.stringify(logs).includes('"fromBlock":"0x1","toBlock":"0x9"'));
  });

  test('must have been read, in order, on a chain that is not stopped', async () => {
    await assert.rejects(rescan(1n), /No chain with the name play was read yet/);
    await read();
    const { scanned_height: at } = await read();
    await assert.rejects(rescan(9n, 8n), /Block 8 is before block 9/);
    await assert.rejects(rescan(at! + 1n), /was not read yet: reading is at block 9999/);
    await db.run(rawSql(`update chains set stopped_why = 'replaced'`));
    await assert.rejects(rescan(1n), /Reading of play is stopped: replaced. Resume it first/);
    const rows = await db.run(rawSql('select rescan_from from chains'));
    assert.deepEqual(rows, [{ rescan_from: null }]);
  });
});
