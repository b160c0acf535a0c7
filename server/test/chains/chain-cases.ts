import assert from 'node:assert/strict';
import type { Token } from '../../src/core/deposit/chain.ts';
import * as chains from '../../src/db/deposits/chains.ts';
import { resumeChain } from '../../src/operations/deposits/resume-chain.ts';
import { isLong } from '../kit/long.ts';
import { crashAt, meanwhileAt, steppedDatabase, steppedRpc, type Step } from './interrupt.ts';
import { type DepositCase, liveChain, readerOf, type Scene, wakeChains } from './scene.ts';

/** Chains that replace blocks, and processes that die, sleep or read at the same time. */
export const chainCases: Record<string, DepositCase> = {
  'is seen at once, and credited once it is final': {
    async history(scene) {
      const job = await scene.reader();
      await scene.read(job);
      const tx_hash = await scene.pay();
      await scene.world.mine();
      await scene.read(job);
      assert.deepEqual([await scene.seen(), await scene.states()], [[tx_hash], []]);
      await scene.settle();
      const row = await scene.read(job);
      assert.deepEqual(await scene.seen(), []);
      assert.deepEqual([row.failures, row.last_error, row.stopped_why], [0, null, null]);
    },
  },

  'that a reorg mines elsewhere is one': {
    async history(scene) {
      const job = await scene.reader();
      await scene.read(job);
      const tx_hash = await scene.pay();
      const [{ address: token }] = scene.chain.tokens as [Token];
      await scene.world.pay({ token, to: `0x${'cc'.repeat(20)}`, units: 1n });
      await scene.world.mine();
      await scene.read(job);
      // The other payment now comes before it, so its log has another position in the block.
      await scene.world.reorg(1, 'paid later');
      await scene.world.mine();
      await scene.read(job);
      assert.deepEqual([await scene.seen(), await scene.states()], [[tx_hash], []]);
      await scene.settle();
      await scene.read(job);
    },
  },

  'that a reorg drops was worth nothing': {
    async history(scene) {
      const job = await scene.reader();
      await scene.read(job);
      await scene.pay();
      await scene.world.mine();
      await scene.read(job);
      assert.equal((await scene.seen()).length, 1);
      await scene.world.reorg(1, 'dropped');
      await scene.settle();
      await scene.read(job);
      assert.deepEqual(await scene.seen(), []);
    },
    deposits: [],
  },

  'after a final block was replaced waits for an operator': {
    async history(scene) {
      const job = await scene.reader();
      await scene.world.mine(30);
      await scene.read(job);
      await scene.world.reorg(scene.door.finalAfter + 5, 'paid later');
      const { stopped_why } = await scene.read(job);
      assert.match(stopped_why!, /^block \d+ was 0x[0-9a-f]{64} and is 0x/);
      await scene.pay();
      await scene.settle();
      await scene.read(job);
      assert.deepEqual(await scene.states(), []);
      await resumeChain(scene.db, scene.chain.name, null);
      await scene.read(job);
    },
  },

  'is found however long nobody has read': {
    needs: 'many blocks',
    async history(scene) {
      const job = await scene.reader();
      await scene.read(job);
      await scene.pay();
      await scene.world.mine(9_000);
      await scene.pay();
      await scene.settle();
      const row = await scene.read(job);
      assert.equal(row.scanned_height, (await scene.world.head()) - BigInt(scene.door.finalAfter));
    },
  },

  'is found on a chain that is set up after it was paid': {
    async history(scene) {
      await scene.read(await scene.reader());
      const late = await scene.second({ name: `${scene.chain.name}-late`, chain_id: 10 });
      await late.pay();
      await late.world.mine(50);
      await late.read(await late.reader());
    },
  },

  'is read by one of two processes': {
    async history(scene) {
      let heads = 0;
      const rpc = steppedRpc(await scene.world.endpoint(), () => Promise.resolve());
      const counting = liveChain(scene.chain, [
        (method, params) => {
          if (method === 'eth_blockNumber') heads += 1;
          return rpc(method, params);
        },
      ]);
      const jobs = [readerOf(scene.db, counting), readerOf(scene.db, counting)];
      await scene.pay();
      await scene.settle();
      await Promise.all(jobs.map((job) => job.runOnce()));
      assert.equal(heads, 1);
    },
  },

  'is read by another process once the lease of one that died has ended': {
    async history(scene) {
      const job = await scene.reader();
      await scene.read(job);
      await scene.pay();
      await scene.settle();
      await wakeChains(scene.db);
      const [dead] = await chains.claimDue(scene.db, [scene.chain.name], 60);
      await job.runOnce();
      assert.deepEqual(await scene.states(), []);
      assert.equal((await scene.read(job)).attempt, dead!.attempt + 1);
    },
  },

  'is credited once, whichever call of the reader was its last': {
    async history(scene) {
      await everyCall(scene, async (call) => {
        const { step, hasCrashed } = crashAt(call);
        await steppedReader(scene, step, true).then((job) => job.runOnce().catch(() => {}));
        await scene.read(await scene.reader());
        return hasCrashed();
      });
    },
  },

  'is credited once, whenever another process overtakes the reader': {
    async history(scene) {
      await everyCall(scene, async (call) => {
        const fast = await scene.reader();
        let isOvertaken = false;
        const step = meanwhileAt(call, async () => {
          isOvertaken = true;
          await scene.read(fast);
        });
        await (await steppedReader(scene, step, false)).runOnce();
        if (!isOvertaken) return false;
        assert.equal((await scene.states()).length, scene.paid.length);
        return true;
      });
    },
  },
};

/**
 * Pays and interrupts a read at its first call, then at its second, until a read has no such call.
 */
async function everyCall(
  scene: Scene,
  interrupted: (call: number) => Promise<boolean>,
): Promise<void> {
  await scene.read(await scene.reader());
  for (let call = 1, isReached = true; isReached; call += isLong ? 1 : 6) {
    await scene.pay();
    await scene.settle();
    await wakeChains(scene.db);
    isReached = await interrupted(call);
  }
}

async function steppedReader({ db, world, chain }: Scene, step: Step, inside: boolean) {
  const rpc = steppedRpc(await world.endpoint(), step);
  return readerOf(steppedDatabase(db, step, inside), liveChain(chain, [rpc]));
}
