import assert from 'node:assert/strict';
import type { Rpc } from '../../src/chains/rpc.ts';
import { hexOf, topicOf, wordOf } from '../../src/chains/wire.ts';
import { keyOf, usdc } from '../operations/deposits-kit.ts';
import type { Faults } from './play-kit.ts';
import { type DepositCase, payer, type Scene } from './scene.ts';

/** Endpoints that lie about a deposit for a while. */
export const lyingCases: Record<string, DepositCase> = {
  'that the first endpoint makes larger is credited as what it is': toldAs(() => ({
    data: wordOf(10n ** 30n),
  })),
  'that the first endpoint makes smaller is credited as what it is': toldAs(({ units }) => ({
    data: wordOf(units / 10n),
  })),
  'that the first endpoint makes nothing of is credited an hour later': toldAs(
    () => ({ data: wordOf(0n) }),
    [],
  ),
  'that the first endpoint takes for another token is credited as what it is': toldAs(() => ({
    address: usdc,
  })),
  'that the first endpoint gives to another account is credited to its own': {
    needs: 'many blocks',
    async history(scene) {
      const other = await payer(scene.db, keyOf(scene.chain.family));
      await lied(scene, (log) => ({
        topics: [log.topics[0], log.topics[1], topicOf(other.address)],
      }));
      const held = await scene.statesOf(other);
      assert.deepEqual([held, await scene.states()], [['held unconfirmed'], []]);
      await truth(scene);
      assert.deepEqual(await scene.statesOf(other), []);
    },
  },

  'that the first endpoint calls final too early waits for the second': {
    async history(scene) {
      const first: Faults = {};
      const rpc = await scene.world.endpoint();
      const job = await scene.reader(first, {});
      await scene.read(job);
      await scene.pay();
      await scene.world.mine();
      // If finality is a number of blocks, an invented newest block has the same effect.
      first.forge = (method, answer, [which]) => {
        if (which === 'finalized') return newestOf(rpc);
        return method === 'eth_blockNumber' ? hexOf(BigInt(answer) + 3n) : answer;
      };
      await scene.read(job);
      assert.deepEqual(await scene.states(), []);
      await scene.world.reorg(1, 'dropped');
      first.forge = undefined;
      await scene.settle();
      await scene.read(job);
    },
    deposits: [],
  },

  'is still seen when the endpoint falls behind': {
    async history(scene) {
      const faults: Faults = {};
      const job = await scene.reader(faults);
      await scene.read(job);
      await scene.world.mine(2);
      const tx_hash = await scene.pay();
      await scene.world.mine();
      const { head_height } = await scene.read(job);
      faults.behind = 2;
      const behind = await scene.read(job);
      assert.deepEqual([await scene.seen(), behind.head_height], [[tx_hash], head_height]);
      faults.behind = 0;
      await scene.settle();
      await scene.read(job);
    },
  },

  'is credited when final blocks are called final no longer': {
    async history(scene) {
      const faults: Faults = {};
      const job = await scene.reader(faults);
      await scene.pay();
      await scene.world.mine(40);
      const { scanned_height } = await scene.read(job);
      assert.deepEqual(await scene.states(), ['credited']);
      await scene.pay();
      await scene.settle();
      const rpc = await scene.world.endpoint();
      faults.forge = (method, answer, [which]) => {
        if (which === 'finalized') return blockAt(rpc, BigInt(answer.number) - 30n);
        return method === 'eth_blockNumber' ? hexOf(BigInt(answer) - 30n) : answer;
      };
      const back = await scene.read(job);
      assert.deepEqual([back.scanned_height, back.failures], [scanned_height, 0]);
      faults.forge = undefined;
      await scene.read(job);
    },
  },
};

async function newestOf(rpc: Rpc): Promise<unknown> {
  return blockAt(rpc, BigInt(String(await rpc('eth_blockNumber'))));
}

function blockAt(rpc: Rpc, height: bigint): Promise<unknown> {
  return rpc('eth_getBlockByNumber', [hexOf(height), false]);
}

/** The first endpoint changes the logs of a payment, and later stops lying. */
function toldAs(change: (scene: Scene) => object, before = ['held unconfirmed']): DepositCase {
  return {
    needs: 'many blocks',
    async history(scene) {
      await lied(scene, () => change(scene));
      assert.deepEqual(await scene.states(), before);
      await truth(scene);
    },
  };
}

async function lied(scene: Scene, change: (log: any) => object): Promise<void> {
  const first: Faults = {
    forge(method, answer) {
      const forged = (log: object) => ({ ...log, ...change(log) });
      if (method === 'eth_getLogs') return answer.map(forged);
      return answer?.logs ? { ...answer, logs: answer.logs.map(forged) } : answer;
    },
  };
  const job = await scene.reader(first, {});
  await scene.read(job);
  await scene.pay();
  await scene.settle();
  await scene.read(job);
}

/** Reads the blocks a second time, as after an hour. */
async function truth(scene: Scene): Promise<void> {
  const job = await scene.reader({}, {});
  for (const blocks of [3_000, 1_300]) {
    await scene.world.mine(blocks);
    await scene.read(job);
  }
}
