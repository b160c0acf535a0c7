import assert from 'node:assert/strict';
import { keyOf, usdt } from '../operations/deposits-kit.ts';
import { resumeChain } from '../../src/operations/deposits/resume-chain.ts';
import type { Door } from './doors.ts';
import type { Faults } from './play-kit.ts';
import { type DepositCase, payer, readerOf } from './scene.ts';

/** Endpoints that answer too little, nothing, or something that is not on the chain. */
export const endpointCases: Record<string, DepositCase> = {
  'is found by an endpoint that takes few blocks at once': inPieces(({ blocks }) => ({
    blocksMax: [2, blocks(2)],
  })),
  'is found by an endpoint that takes few addresses at once': inPieces(({ addresses }) => ({
    addressesMax: [2, addresses(2)],
  })),
  'is found by an endpoint that gives few answers at once': inPieces(({ logs }) => ({
    logsMax: [1, logs(1)],
  })),

  'is found once an endpoint that refused for the rate answers again': {
    async history(scene) {
      const other = await scene.second({ name: `${scene.chain.name}-two`, chain_id: 9 });
      const faults: Faults = {};
      const job = readerOf(scene.db, await scene.live(faults), await other.live());
      const before = await scene.read(job);
      await scene.pay();
      await other.pay();
      await scene.settle();
      await other.settle();
      faults.refuses = scene.door.words.rate;
      for (const failures of [1, 2, 3]) {
        const asked = Date.now();
        const row = await scene.read(job);
        assert.deepEqual([row.failures, row.scanned_height], [failures, before.scanned_height]);
        assert.match(row.last_error!, new RegExp(`: ${scene.door.words.rate.code} `));
        const [least, most] = [asked, Date.now()].map((at) => (row.wake_at.getTime() - at) / 1000);
        const usual = 15 * 2 ** (failures - 1);
        assert.ok(least! >= usual * 0.75, `${least} after ${failures}`);
        assert.ok(most! <= usual * 1.25, `${most} after ${failures}`);
      }
      assert.deepEqual(await scene.states(), ['credited'], 'the other chain was not read');
      faults.refuses = undefined;
      assert.equal((await scene.read(job)).failures, 0);
    },
  },

  'is found once an endpoint has the blocks that it was asked for': {
    async history(scene) {
      const faults: Faults = {};
      const job = await scene.reader(faults);
      const before = await scene.read(job);
      await scene.pay();
      await scene.world.mine(40);
      faults.lag = 30;
      const behind = await scene.read(job);
      assert.match(behind.last_error!, /does not have block \d+ yet/);
      assert.equal(behind.scanned_height, before.scanned_height);
      assert.deepEqual(await scene.states(), []);
      faults.lag = 0;
      await scene.read(job);
    },
  },

  'whose block an endpoint knows without its logs is seen a block later': {
    async history(scene) {
      const job = await scene.reader({ headWithoutLogs: true });
      await scene.read(job);
      await scene.pay();
      await scene.world.mine();
      await scene.read(job);
      assert.deepEqual(await scene.seen(), []);
      await scene.world.mine();
      await scene.read(job);
      // If the last block but one is final, the deposit is credited already.
      assert.equal((await scene.seen()).length + (await scene.states()).length, 1);
      await scene.settle();
      await scene.read(job);
    },
  },

  'that the first endpoint leaves out is found an hour later by the second': {
    needs: 'many blocks',
    async history(scene) {
      const gap = (await scene.world.head()) + 1n;
      const job = await scene.reader({ gap }, {});
      await scene.read(job);
      await scene.pay();
      await scene.world.mine(3_000);
      await scene.read(job);
      assert.deepEqual(await scene.states(), []);
      await scene.world.mine(1_300);
      await scene.read(job);
    },
  },

  'that the only endpoint leaves out is found when its block is read again': {
    async history(scene) {
      const gap = (await scene.world.head()) + 1n;
      const job = await scene.reader({ gap });
      await scene.read(job);
      await scene.pay();
      await scene.settle();
      await scene.pay();
      await scene.settle();
      await scene.read(job);
      assert.deepEqual(await scene.states(), ['credited']);
      await resumeChain(scene.db, scene.chain.name, gap);
      await scene.read(await scene.reader());
    },
  },

  'that one endpoint invents is held, and worth nothing': {
    async history(scene) {
      const { units, world, who } = scene;
      const invents = { token: usdt, to: who.address, units, height: (await world.head()) + 1n };
      const job = await scene.reader({ invents }, {});
      await scene.read(job);
      await scene.settle();
      await scene.read(job);
      await scene.read(job);
    },
    deposits: ['held unconfirmed'],
  },

  'that the second endpoint does not know yet is credited as soon as it does': {
    async history(scene) {
      const second: Faults = {
        forge: (method, answer) => (method === 'eth_getTransactionReceipt' ? null : answer),
      };
      const job = await scene.reader({}, second);
      await scene.read(job);
      await scene.pay();
      await scene.settle();
      await scene.read(job);
      assert.deepEqual(await scene.states(), ['held unconfirmed']);
      second.forge = undefined;
      await scene.read(job);
    },
  },

  'while the second endpoint is away is credited as soon as it is back': {
    async history(scene) {
      const second: Faults = {};
      const job = await scene.reader({}, second);
      await scene.read(job);
      await scene.pay();
      await scene.settle();
      second.refuses = scene.door.words.rate;
      await scene.read(job);
      assert.deepEqual(await scene.states(), ['held unconfirmed']);
      second.refuses = undefined;
      await scene.read(job);
    },
  },

  'is found and held while the second endpoint is away, for however long': {
    needs: 'many blocks',
    async history(scene) {
      const second: Faults = {};
      const job = await scene.reader({}, second);
      await scene.read(job);
      // By now, old blocks are due to be read again.
      await scene.world.mine(4_500);
      second.refuses = scene.door.words.rate;
      await scene.pay();
      await scene.settle();
      const { failures, rescanned_height } = await scene.read(job);
      assert.deepEqual([failures, await scene.states()], [0, ['held unconfirmed']]);
      await scene.pay();
      await scene.world.mine();
      await scene.read(job);
      assert.equal((await scene.seen()).length, 1);
      second.refuses = undefined;
      await scene.settle();
      const back = await scene.read(job);
      assert.ok(back.rescanned_height! > rescanned_height!);
    },
  },

  'is held by a process that has never heard the second endpoint': {
    async history(scene) {
      const second: Faults = { refuses: scene.door.words.rate };
      const job = await scene.reader({}, second);
      assert.equal((await scene.read(job)).failures, 0);
      await scene.pay();
      await scene.settle();
      await scene.read(job);
      assert.deepEqual(await scene.states(), ['held unconfirmed']);
      second.refuses = undefined;
      await scene.read(job);
    },
  },

  'whose receipt says that it failed is credited once it does not': {
    async history(scene) {
      const faults: Faults = {
        forge: (method, answer) =>
          method === 'eth_getTransactionReceipt' ? { ...answer, status: '0x0' } : answer,
      };
      const job = await scene.reader(faults);
      const before = await scene.read(job);
      await scene.pay();
      await scene.settle();
      const after = await scene.read(job);
      assert.match(after.last_error!, /has found the transfer .*, but does not confirm it/);
      assert.equal(after.scanned_height, before.scanned_height);
      assert.deepEqual(await scene.states(), []);
      faults.forge = undefined;
      await scene.read(job);
    },
  },
};

/** Pays three times, and reads by an endpoint that answers too little at once. */
function inPieces(faultsOf: (words: Door['words']) => Faults): DepositCase {
  return {
    async history(scene) {
      const { db, chain, door, world } = scene;
      for (let i = 0; i < 3; i++) await payer(db, keyOf(chain.family));
      for (let i = 0; i < 3; i++) {
        await scene.pay();
        await world.mine(4);
      }
      await scene.settle();
      assert.equal((await scene.read(await scene.reader(faultsOf(door.words)))).failures, 0);
    },
  };
}
