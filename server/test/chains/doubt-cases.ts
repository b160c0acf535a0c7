import assert from 'node:assert/strict';
import { RpcError } from '../../src/chains/rpc.ts';
import { hexOf } from '../../src/chains/wire.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { keyOf } from '../operations/deposits-kit.ts';
import type { Faults } from './play-kit.ts';
import { type DepositCase, noted, payer, type Scene } from './scene.ts';

/** One deposit that an endpoint cannot confirm, a log or a block that it cannot give. */

type Forge = NonNullable<Faults['forge']>;
/** Changes the answers that concern a deposit, by its transaction and block. */
type Spoil = (spoilt: { tx_hash: string; block: string }) => Forge;

const refused = (method: string) => new RpcError(method, -32000, 'missing trie node');

/** Answers of one kind that concern the deposit. */
const spoils: Record<string, Spoil> = {
  'whose receipt stays missing': ofReceipt(() => null),
  'whose receipt is refused for good': ofReceipt(() => {
    throw refused('eth_getTransactionReceipt');
  }),
  'whose receipt is a text': ofReceipt(() => 'not found'),
  'whose receipt says that it failed': ofReceipt((receipt) => ({ ...receipt, status: '0x0' })),
  'whose receipt has no status': ofReceipt((receipt) => ({ ...receipt, status: undefined })),
  'whose receipt has no logs': ofReceipt((receipt) => ({ ...receipt, logs: null })),
  'whose receipt has other logs': ofReceipt((receipt) => ({
    ...receipt,
    logs: receipt.logs.map((log: object) => ({ ...log, data: `0x${'1'.padStart(64, '0')}` })),
  })),
  'whose receipt is of another block': ofReceipt((receipt) => ({
    ...receipt,
    blockHash: `0x${'ab'.repeat(32)}`,
  })),
  'whose receipt is of an odd block': ofReceipt((receipt) => ({ ...receipt, blockNumber: 7 })),
  'whose receipt numbers its logs oddly': ofReceipt((receipt) => ({
    ...receipt,
    logs: receipt.logs.map((log: object) => ({ ...log, logIndex: null })),
  })),
  'whose block is refused for good': ofBlock(() => {
    throw refused('eth_getBlockByNumber');
  }),
  'whose block has a time in milliseconds': ofBlock((block) => ({
    ...block,
    timestamp: hexOf(BigInt(block.timestamp) * 1000n),
  })),
  'whose block has no hash': ofBlock((block) => ({ ...block, hash: null })),
  'whose log has no amount': ofLog(() => ({ data: '0x' })),
  'whose log has a short amount': ofLog(() => ({ data: '0x4563918244f40000' })),
  'whose log has no sender': ofLog((log) => ({ topics: [log.topics[0], null, log.topics[2]] })),
  'whose log has no block hash': ofLog(() => ({ blockHash: null })),
};

export const doubtCases: Record<string, DepositCase> = {
  ...Object.fromEntries(
    Object.entries(spoils).map(([what, spoil]) => [
      `${what} is held after three reads, and keeps nobody waiting`,
      { history: (scene: Scene) => held(scene, spoil) },
    ]),
  ),

  'that only the second endpoint can confirm is held, and credited once both can': {
    async history(scene) {
      const first: Faults = {};
      const job = await scene.reader(first, {});
      await scene.read(job);
      const tx_hash = await scene.pay();
      first.forge = spoils['whose receipt stays missing']!({ tx_hash, block: '' });
      await scene.settle();
      for (const _ of [1, 2, 3]) await scene.read(job);
      assert.deepEqual(await scene.states(), ['held unconfirmed']);
      first.forge = undefined;
      await scene.read(job);
    },
  },

  'that was held without its receipt is one with the deposit that is found an hour later': {
    needs: 'many blocks',
    async history(scene) {
      const faults: Faults = {};
      const job = await scene.reader(faults);
      await scene.read(job);
      const tx_hash = await scene.pay();
      faults.forge = spoils['whose receipt stays missing']!({ tx_hash, block: '' });
      await scene.settle();
      for (const _ of [1, 2, 3]) await scene.read(job);
      assert.deepEqual(await scene.states(), ['held unconfirmed']);
      const another = await scene.reader({}, {});
      for (const blocks of [3_000, 1_300]) {
        await scene.world.mine(blocks);
        await scene.read(another);
      }
    },
  },

  'whose second reading finds no receipt is not held beside its credit': {
    needs: 'many blocks',
    async history(scene) {
      await scene.read(await scene.reader());
      const tx_hash = await scene.pay();
      await scene.settle();
      await scene.read(await scene.reader());
      const forge = spoils['whose receipt stays missing']!({ tx_hash, block: '' });
      const job = await scene.reader({}, { forge });
      for (const blocks of [3_000, 1_300]) {
        await scene.world.mine(blocks);
        await scene.read(job);
      }
      assert.deepEqual(await scene.states(), ['credited']);
    },
  },

  'whose log is not readable is left out, and found by the second reading': {
    needs: 'many blocks',
    history: (scene) =>
      leftOut(
        scene,
        ({ tx_hash }) =>
          (method, answer) =>
            method === 'eth_getLogs'
              ? answer.map((log: any) =>
                  log.transactionHash === tx_hash ? { ...log, logIndex: null } : log,
                )
              : answer,
      ),
  },

  'whose block cannot be read is left out, and found by the second reading': {
    needs: 'many blocks',
    history: (scene) =>
      leftOut(scene, ({ block }) => (method, answer, [filter]) => {
        if (method !== 'eth_getLogs') return answer;
        const [from, to] = [filter.fromBlock, filter.toBlock].map(BigInt) as [bigint, bigint];
        if (from <= BigInt(block) && BigInt(block) <= to) throw refused(method);
        return answer;
      }),
  },

  'that the database refuses is held, and credited when it does not': {
    async history(scene) {
      const { db } = scene;
      const other = await payer(db, keyOf(scene.chain.family));
      const job = await scene.reader();
      await scene.read(job);
      const tx_hash = await scene.pay();
      await scene.world.mine();
      await scene.world.pay({
        token: scene.chain.tokens[0]!.address,
        to: other.address,
        units: scene.units,
      });
      await scene.settle();
      const law = `check (tx_hash <> '${tx_hash}' or state <> 'credited')`;
      await db.run(rawSql(`alter table chain_deposits add constraint odd ${law}`));
      try {
        const { failures } = await scene.read(job);
        assert.deepEqual(
          [failures, await scene.states(), await scene.statesOf(other)],
          [0, ['held unconfirmed'], ['credited']],
        );
      } finally {
        await db.run(rawSql('alter table chain_deposits drop constraint odd'));
      }
      await scene.read(job);
    },
  },

  'that the database refuses altogether keeps nobody waiting, and is found when read again': {
    needs: 'many blocks',
    async history(scene) {
      const { db } = scene;
      const other = await payer(db, keyOf(scene.chain.family));
      const job = await scene.reader();
      await scene.read(job);
      const tx_hash = await scene.pay();
      await scene.world.mine();
      await scene.world.pay({
        token: scene.chain.tokens[0]!.address,
        to: other.address,
        units: scene.units,
      });
      await scene.settle();
      await db.run(
        rawSql(`alter table chain_deposits add constraint odd check (tx_hash <> '${tx_hash}')`),
      );
      const before = noted.length;
      try {
        const first = await scene.read(job);
        assert.deepEqual(
          [first.failures, await scene.states(), await scene.statesOf(other)],
          [1, [], ['credited']],
        );
        assert.equal(noted.length, before + 1, 'the other one was credited without a word');
        await scene.read(job);
        const third = await scene.read(job);
        assert.equal(third.failures, 0);
        assert.ok(third.scanned_height! > first.scanned_height!);
      } finally {
        await db.run(rawSql('alter table chain_deposits drop constraint odd'));
      }
      for (const blocks of [3_000, 1_300]) {
        await scene.world.mine(blocks);
        await scene.read(job);
      }
    },
  },
};

function ofReceipt(change: (receipt: any) => unknown): Spoil {
  return ({ tx_hash }) =>
    (method, answer, [hash]) =>
      method === 'eth_getTransactionReceipt' && hash === tx_hash ? change(answer) : answer;
}

function ofBlock(change: (block: any) => unknown): Spoil {
  return ({ block }) =>
    (method, answer, [number]) =>
      method === 'eth_getBlockByNumber' && number === block ? change(answer) : answer;
}

/** Changes the log of the deposit wherever it stands. */
function ofLog(change: (log: any) => object): Spoil {
  return ({ tx_hash }) =>
    (_method, answer) => {
      const changed = (log: any) =>
        log.transactionHash === tx_hash ? { ...log, ...change(log) } : log;
      if (Array.isArray(answer)) return answer.map(changed);
      return answer?.logs ? { ...answer, logs: answer.logs.map(changed) } : answer;
    };
}

/** Two customers pay, and the endpoint spoils what it says about the first deposit. */
async function spoilt(scene: Scene, spoil: Spoil) {
  const other = await payer(scene.db, keyOf(scene.chain.family));
  const faults: Faults = {};
  const job = await scene.reader(faults);
  const before = await scene.read(job);
  const tx_hash = await scene.pay();
  await scene.world.mine();
  const block = await blockOf(scene, tx_hash);
  const payOther = async () => {
    const { address: token } = scene.chain.tokens[0]!;
    await scene.world.pay({ token, to: other.address, units: scene.units });
    await scene.settle();
  };
  await payOther();
  // The last block of a read is not the deposit's own.
  await scene.world.mine(2);
  faults.forge = spoil({ tx_hash, block });
  return { other, faults, job, before, payOther };
}

async function blockOf(scene: Scene, tx_hash: string): Promise<string> {
  const rpc = await scene.world.endpoint();
  const receipt = (await rpc('eth_getTransactionReceipt', [tx_hash])) as { blockNumber: string };
  return receipt.blockNumber;
}

async function held(scene: Scene, spoil: Spoil): Promise<void> {
  const { other, faults, job, payOther } = await spoilt(scene, spoil);
  for (const failures of [1, 2]) {
    const row = await scene.read(job);
    assert.deepEqual([row.failures, await scene.states()], [failures, []]);
    assert.ok(row.last_error!.length > 0);
  }
  const row = await scene.read(job);
  assert.deepEqual([row.failures, row.last_error], [0, null]);
  assert.deepEqual(
    [await scene.states(), await scene.statesOf(other)],
    [['held unconfirmed'], ['credited']],
  );
  await payOther();
  await scene.read(job);
  assert.deepEqual(
    [await scene.states(), await scene.statesOf(other)],
    [['held unconfirmed'], ['credited', 'credited']],
  );
  faults.forge = undefined;
  await scene.read(job);
}

async function leftOut(scene: Scene, spoil: Spoil): Promise<void> {
  const { other, faults, job, before } = await spoilt(scene, spoil);
  for (const failures of [1, 2]) {
    const row = await scene.read(job);
    assert.deepEqual([row.failures, row.scanned_height], [failures, before.scanned_height]);
  }
  const { failures, rescanned_height } = await scene.read(job);
  assert.deepEqual(
    [failures, await scene.states(), await scene.statesOf(other)],
    [0, [], ['credited']],
  );
  // As long as the endpoint cannot give it, the second reading does not pass it either.
  for (const blocks of [3_000, 1_300]) {
    await scene.world.mine(blocks);
    const row = await scene.read(job);
    assert.deepEqual([row.failures, row.rescanned_height], [0, rescanned_height]);
  }
  faults.forge = undefined;
  await scene.world.mine();
  await scene.read(job);
}
