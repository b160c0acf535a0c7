import assert from 'node:assert/strict';
import { deposit } from '../kit/by-command-line.ts';
import * as addresses from '../../src/db/deposits/addresses.ts';
import { changeStatus, requireAccount } from '../../src/operations/accounts/account.ts';
import { commandLine } from '../../src/operations/operator-action.ts';
import { resumeChain } from '../../src/operations/deposits/resume-chain.ts';
import { keyOf, usdc } from '../operations/deposits-kit.ts';
import type { Faults } from './play-kit.ts';
import { type DepositCase, payer, readerOf, type Scene } from './scene.ts';

/** Customers who pay in other ways than the page says, and attackers who try to get money. */
export const payerCases: Record<string, DepositCase> = {
  'of a transaction that pays many is found, and a second one too': {
    async history(scene) {
      const ours = { to: scene.who.address, token: tokenOf(scene), units: scene.units };
      const stranger = { ...ours, to: `0x${'cc'.repeat(20)}` };
      await scene.pay({}, { before: [stranger], after: [stranger, ours] });
      await readAll(scene);
    },
  },

  'is what arrived, in parts, twice in a block, late and without a limit': {
    async history(scene) {
      for (const dollars of [2n, 2n, 5n, 499n]) await scene.pay(usd(scene, dollars));
      await readAll(scene);
      await scene.world.mine(500);
      await scene.pay(usd(scene, 1n));
      await readAll(scene);
    },
  },

  'of less than the minimum is ignored, not shown, and of next to nothing not even noted': {
    async history(scene) {
      const job = await scene.reader();
      await scene.read(job);
      await scene.pay({ units: scene.units / 5n - 1n });
      await scene.pay({ units: 0n });
      await scene.pay({ units: scene.units / 500n - 1n });
      await scene.world.mine();
      await scene.read(job);
      assert.deepEqual(await scene.seen(), []);
      await scene.settle();
      await scene.read(job);
    },
    deposits: ['ignored dust'],
  },

  'of a contract that only calls itself USDT is nothing': {
    async history(scene) {
      await scene.pay({ token: `0x${'a3'.repeat(20)}` });
      await readAll(scene);
    },
    deposits: [],
  },

  'of a token that is not credited is only noted': {
    async history(scene) {
      await scene.pay({ token: usdc });
      await scene.world.mine();
      const job = await scene.reader();
      await scene.read(job);
      assert.deepEqual(await scene.seen(), []);
      await scene.settle();
      await scene.read(job);
    },
    deposits: ['ignored token'],
  },

  'is counted with the decimals of its contract, or not at all': {
    async history(scene) {
      const { db, chain } = scene;
      const live = await scene.live();
      const tokens = chain.tokens.map((token) => ({ ...token, decimals: token.decimals - 2 }));
      await scene.pay();
      await scene.settle();
      const refused = await scene.read(readerOf(db, { ...live, chain: { ...chain, tokens } }));
      assert.match(
        refused.refused_why!,
        /^USDT has \d+ decimals, but the chain file .+ says \d+\./,
      );
      assert.deepEqual([refused.scanned_height, await scene.states()], [null, []]);
      assert.equal((await scene.read(readerOf(db, live))).refused_why, null);
    },
  },

  'of one contract and transaction on two chains is two': {
    needs: 'hashes of choice',
    async history(scene) {
      const other = await scene.second({ name: `${scene.chain.name}-two`, chain_id: 9 });
      await other.pay({ tx_hash: await scene.pay() });
      await Promise.all([scene.settle(), other.settle()]);
      await scene.read(readerOf(scene.db, await scene.live(), await other.live()));
    },
  },

  'of a token that the chain file names later is found when its block is read again': {
    async history(scene) {
      const { db, chain } = scene;
      const live = await scene.live();
      await scene.pay();
      await scene.settle();
      const tokens = chain.tokens.slice(1);
      await scene.read(readerOf(db, { ...live, chain: { ...chain, tokens } }));
      const job = readerOf(db, live);
      await scene.read(job);
      assert.deepEqual(await scene.states(), []);
      await resumeChain(db, chain.name, 100n);
      await scene.read(job);
    },
  },

  'is credited while one of a token that the file no longer names is held': {
    async history(scene) {
      const { db, chain } = scene;
      const second: Faults = {
        forge: (method, answer) => (method === 'eth_getTransactionReceipt' ? null : answer),
      };
      const live = await scene.live({}, second);
      await scene.read(readerOf(db, live));
      await scene.pay({ token: usdc });
      await scene.settle();
      await scene.read(readerOf(db, live));
      assert.deepEqual(await scene.states(), ['held unconfirmed']);
      second.forge = undefined;
      await scene.pay();
      await scene.settle();
      const tokens = chain.tokens.filter(({ address }) => address !== usdc);
      await scene.read(readerOf(db, { ...live, chain: { ...chain, tokens } }));
      assert.deepEqual(await scene.states(), ['held unconfirmed', 'credited']);
      await scene.read(readerOf(db, live));
    },
    deposits: ['ignored token', 'credited'],
  },

  'to an address before somebody gets it is found when its block is read again': {
    async history(scene) {
      const { db, chain, world, units } = scene;
      const key = keyOf(chain.family);
      const { next_index } = (await addresses.findCurrentKey(db, chain.family))!;
      await world.pay({ token: tokenOf(scene), to: key.addressAt(next_index), units });
      await readAll(scene);
      const late = await payer(db, key);
      await readAll(scene);
      assert.deepEqual(await scene.statesOf(late), []);
      await resumeChain(db, chain.name, 100n);
      await readAll(scene);
      assert.deepEqual(await scene.statesOf(late), ['credited']);
    },
  },

  'that an operator has credited by hand is held': {
    async history(scene) {
      const { account_id } = await payer(scene.db, keyOf(scene.chain.family));
      const reference = `paid by ${(await scene.pay()).slice(2).toUpperCase()}`;
      await deposit(scene.db, { account_id, amount: 5_000_000n, reference });
      await readAll(scene);
    },
    deposits: ['held review'],
  },

  'to a suspended account is its money, and the account stays suspended': {
    async history(scene) {
      const account = await requireAccount(scene.db, scene.who.account_id);
      await changeStatus(scene.db, commandLine, account, 'suspended');
      await scene.pay();
      await readAll(scene);
      assert.equal((await requireAccount(scene.db, account.id)).status, 'suspended');
    },
  },
};

async function readAll(scene: Scene): Promise<void> {
  await scene.settle();
  await scene.read(await scene.reader());
}

function usd({ units }: Scene, dollars: bigint): { units: bigint } {
  return { units: (units / 5n) * dollars };
}

function tokenOf({ chain }: Scene): string {
  return chain.tokens[0]!.address;
}
