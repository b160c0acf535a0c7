import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { RpcError, type Rpc } from '../../src/chains/rpc.ts';
import { hexOf } from '../../src/chains/wire.ts';
import type { Chain } from '../../src/core/deposit/chain.ts';
import * as chains from '../../src/db/deposits/chains.ts';
import { hideInLogs } from '../../src/lib/log.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { issueAddress } from '../../src/operations/deposits/deposit-address.ts';
import { resumeChain } from '../../src/operations/deposits/resume-chain.ts';
import type { ChainTask } from '../../src/worker/background/chains.ts';
import { playWorld, withFaults, type Faults, type PlayWorld } from '../chains/play-kit.ts';
import {
  availableTo,
  checkedReader,
  forgetChains,
  liveChain,
  payer,
  readerOf,
  readNow,
  runningReader,
  seenBy,
  statesOf,
  type Payer,
} from '../chains/scene.ts';
import { customer } from '../kit/by-hand.ts';
import { until } from '../kit/until.ts';
import { withBooks } from '../kit/with-database.ts';
import { chain, keyOf, usdt } from '../operations/deposits-kit.ts';

let world: PlayWorld;
let who: Payer;
const key = keyOf('evm');
const units = 5n * 10n ** 18n;
const fromHead: Chain = { ...chain, start_height: null };
const { db } = withBooks();
beforeEach(async () => {
  await forgetChains(db);
  world = playWorld();
  who = await payer(db, key);
});

/** A process that reads the chain through these endpoints. */
const reader = (rpcs: Rpc[] = [world.play.rpc], file = fromHead): ChainTask =>
  readerOf(db, liveChain(file, rpcs));
const read = (task: ChainTask) => readNow(db, task, fromHead.name);
const pay = () => world.play.pay({ token: usdt, to: who.address, units });
const states = () => statesOf(db, who);

describe('a chain that is read', () => {
  test('ignores payments from before its first read', async () => {
    pay();
    world.mine(10);
    const task = reader();
    await read(task);
    world.mine(10);
    await read(task);
    assert.deepEqual(await states(), []);
  });

  test('credits an address that is issued while it reads', async () => {
    let heads = 0;
    const late = await customer(db, 0n);
    const task = reader([
      async (method, params) => {
        // Somebody gets an address and pays while the read is going on.
        if (method === 'eth_blockNumber' && ++heads === 2) {
          const { address } = await issueAddress(db, late.account_id, key);
          world.play.pay({ token: usdt, to: address!, units });
          world.mine(5);
        }
        return world.play.rpc(method, params);
      },
    ]);
    await read(task);
    await read(task);
    assert.equal(await availableTo(db, late), 5_000_000n);
  });
});

test('a chain whose endpoint hangs does not delay the others', async () => {
  const gate = Promise.withResolvers<void>();
  const hanging: Rpc = async (method, params) => {
    await gate.promise;
    return method === 'eth_chainId' ? '0x8' : world.play.rpc(method, params);
  };
  const isRead = async (name: string) =>
    (await chains.list(db)).some((row) => row.name === name && row.scanned_height !== null);
  const slow = liveChain({ ...fromHead, name: 'slow', chain_id: 8 }, [hanging]);
  const task = runningReader(db, slow, liveChain(fromHead, [world.play.rpc]));
  await until('the quick one was read', () => isRead('play'));
  pay();
  world.mine(5);
  await db.run(rawSql("update chains set wake_at = now() where name = 'play'"));
  await until('its payment is credited', async () => (await availableTo(db, who)) === 5_000_000n);
  assert.equal(await isRead('slow'), false);
  gate.resolve();
  await until('the slow one was read', () => isRead('slow'));
  await task.stop();
});

test('a chain is resumed only at blocks that were read', async () => {
  const { scanned_height: at } = await read(reader());
  await assert.rejects(resumeChain(db, 'play', at! + 2n), /was not read yet/);
  await resumeChain(db, 'play', at);
  const [{ scanned_height }] = (await chains.list(db)) as [chains.ChainRow];
  assert.equal(scanned_height, at! - 1n);
});

test('a chain that was read under another name is not read again', async () => {
  await read(reader([world.play.rpc], fromHead));
  pay();
  world.mine(5);
  await read(reader([world.play.rpc], fromHead));
  const before = await availableTo(db, who);
  const other = reader([world.play.rpc], { ...fromHead, name: 'renamed', start_height: 0 });
  const { refused_why } = await readNow(db, other, 'renamed');
  assert.match(refused_why ?? '', /was read under the name play before/);
  await assert.rejects(resumeChain(db, 'renamed', 100n), /name renamed was read yet/);
  assert.equal((await readNow(db, other, 'renamed')).start_height, null);
  assert.equal(await availableTo(db, who), before);
});

test('a chain that is behind is read again later if its second endpoint has no new block', async () => {
  await read(reader());
  world.mine();
  pay();
  world.mine(5_000);
  let heads = 0;
  const first: Rpc = (method, params) => {
    if (method === 'eth_blockNumber' && ++heads > 5)
      return Promise.reject(new RpcError(method, 429, 'too many'));
    return world.play.rpc(method, params);
  };
  // Its newest final block is older than the payment, but not older than that of the first
  // endpoint.
  const now = hexOf(BigInt(Math.floor(Date.now() / 1000)));
  const second: Faults = {
    behind: 5_003,
    forge: (method, answer) =>
      method === 'eth_getBlockByNumber' ? { ...answer, timestamp: now } : answer,
  };
  const row = await read(reader([first, withFaults(world.play.rpc, second)]));
  assert.deepEqual([heads, row.failures, await states()], [1, 0, []]);
  assert.ok(row.wake_at > new Date());
  await read(reader([world.play.rpc, world.play.rpc]));
  assert.deepEqual(await states(), ['credited']);
  assert.equal((await chains.list(db))[0]!.failures, 0);
});

describe('a deposit far below the newest block, and not final', () => {
  const late: Chain = { ...fromHead, finality: { confirmations: 3_000 } };
  const seenAgain = async (then: () => void): Promise<ChainTask> => {
    const task = reader([world.play.rpc], late);
    await read(task);
    const tx_hash = pay();
    world.mine();
    await read(task);
    world.mine(2_500);
    then();
    await read(task);
    assert.deepEqual(await seenBy(db, who), [tx_hash]);
    assert.deepEqual(await states(), []);
    world.mine(1_000);
    await read(task);
    assert.deepEqual(await seenBy(db, who), []);
    return task;
  };

  test('stays seen although its block is not read again, and is credited in the end', async () => {
    await seenAgain(() => {});
    assert.deepEqual(await states(), ['credited']);
  });

  test('is dropped in the end if the chain has replaced its block meanwhile', async () => {
    await seenAgain(() => world.play.reorg(2_501, 'dropped'));
    assert.deepEqual(await states(), []);
    assert.equal(await availableTo(db, who), 0n);
  });
});

test('a process that may no longer work ends with the part that it reads', async () => {
  await read(reader());
  world.mine(5_000);
  let asked = 0;
  const live = liveChain(fromHead, [world.play.rpc]);
  const halted = checkedReader(db, live, () => ++asked === 1);
  assert.equal((await read(halted)).scanned_height, 2_099n);
  assert.equal((await read(reader())).scanned_height, 5_097n);
});

describe('a read that fails', () => {
  const away: Rpc = () => Promise.reject(new RpcError('eth_blockNumber', 429, 'too many'));

  test('by a wrong setting says what to do, until it is corrected', async () => {
    const wrong = await read(reader([world.play.rpc], { ...fromHead, chain_id: 56 }));
    assert.match(
      wrong.refused_why!,
      /^play was read as the chain 7 before, but its file says 56\./,
    );
    const tokens = chain.tokens.map((token) => ({ ...token, decimals: 6 }));
    const other = await read(reader([world.play.rpc], { ...fromHead, tokens }));
    assert.match(other.refused_why!, /^USDT has 18 decimals, but the chain file play says 6\./);
    assert.equal(other.scanned_height, null);
    assert.equal((await read(reader())).refused_why, null);
  });

  test('keeps the endpoint’s words without the keys in them', async () => {
    const secret = 'endpoint-key-of-read-chains';
    hideInLogs(secret);
    const wordy: Rpc = () => Promise.reject(new RpcError('eth_chainId', 401, `bad ${secret}`));
    const { last_error } = await read(reader([wordy]));
    assert.equal(last_error, 'eth_chainId: 401 bad [redacted]');
  });

  test('of a chain that was never read cannot be resumed', async () => {
    await assert.rejects(resumeChain(db, 'nowhere', null), /No chain with the name nowhere/);
  });

  test('because its process stops leaves the chain to the next process at once', async () => {
    await read(reader());
    pay();
    world.mine(5);
    let stopped: Promise<void> | undefined;
    const task: ChainTask = reader([
      () => {
        stopped ??= task.stop();
        return away('eth_chainId');
      },
    ]);
    const row = await read(task);
    await stopped;
    assert.deepEqual([row.failures, row.wake_at <= new Date()], [0, true]);
    await reader().runOnce();
    assert.deepEqual(await states(), ['credited']);
  });
});
