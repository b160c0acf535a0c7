import assert from 'node:assert/strict';
import { wordOf } from '../../src/chains/wire.ts';
import { usdc } from '../operations/deposits-kit.ts';
import { call, contracts, type ContractWorld } from './anvil-door.ts';
import type { DepositCase, Scene } from './scene.ts';

/** Payments that only a chain with contracts can have. */
export const contractCases: Record<string, DepositCase> = {
  'whose transaction failed, or was undone inside one that succeeded, is nothing': {
    async history(scene) {
      const { who, units } = scene;
      const world = worldOf(scene);
      const [failed, undone] = [
        await world.send(token(scene), call.transfer(who.address, units)),
        await world.send(contracts.batch, call.undone(token(scene), who.address, units)),
      ];
      await readAll(scene);
      const rpc = await world.endpoint();
      const statuses = await Promise.all(
        [failed, undone].map(async (hash) => {
          const receipt: any = await rpc('eth_getTransactionReceipt', [hash]);
          return [receipt.status, receipt.logs.length];
        }),
      );
      assert.deepEqual(statuses, [
        ['0x0', 0],
        ['0x1', 0],
      ]);
    },
    deposits: [],
  },

  'is what arrived when the token takes a fee, which is a second log': {
    async history(scene) {
      const { who, units } = scene;
      const world = worldOf(scene);
      const rpc = await world.endpoint();
      const [payer] = (await rpc('eth_accounts')) as [string];
      // The owner of the token is the address 0, because the token was not deployed.
      const from = `0x${'0'.repeat(40)}`;
      await rpc('anvil_impersonateAccount', [from]);
      await rpc('anvil_setBalance', [from, wordOf(10n ** 18n)]);
      const data = call.setFee(100n, units);
      await rpc('eth_sendTransaction', [{ from, to: token(scene), data }]);
      await world.send(token(scene), call.mint(payer, units));
      await world.mine();
      const sent = call.transfer(who.address, units);
      await rpc('eth_sendTransaction', [{ from: payer, to: token(scene), data: sent }]);
      scene.paid.push((units * 99n) / 100n);
      await readAll(scene);
    },
  },

  'that another contract only tells of is nothing': {
    async history(scene) {
      const { who, units } = scene;
      await worldOf(scene).send(contracts.liar, call.lie(usdc, who.address, units));
      await readAll(scene);
    },
    deposits: [],
  },
};

function worldOf({ world }: Scene): ContractWorld {
  return world as ContractWorld;
}

function token({ chain }: Scene): string {
  return chain.tokens[0]!.address;
}

async function readAll(scene: Scene): Promise<void> {
  await scene.settle();
  await scene.read(await scene.reader());
}
