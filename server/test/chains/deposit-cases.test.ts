import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { microOf } from '../../src/core/deposit/deposit.ts';
import { resumeChain } from '../../src/operations/deposits/resume-chain.ts';
import { withBooks } from '../kit/with-database.ts';
import { isLong } from '../kit/long.ts';
import { anvilDoor, findAnvil } from './anvil-door.ts';
import { contractCases } from './contract-cases.ts';
import { depositCases } from './deposit-cases.ts';
import { doors, type Door } from './doors.ts';
import { availableTo, type DepositCase, forgetChains, openScene, type Scene } from './scene.ts';

/** Each deposit case with each kind of endpoint; in the short form, with one of them. */

const { db } = withBooks();

for (const [at, door] of doors.entries())
  describe(`over ${door.name}, a deposit`, () => {
    for (const [i, [outcome, each]] of Object.entries(depositCases).entries())
      if (isLong || i % doors.length === at) test(outcome, () => play(door, each));
  });

const skip = findAnvil() === null && 'anvil is not installed: CONTRIBUTING.md says how';
describe('over anvil, a deposit', { skip }, () => {
  for (const [outcome, each] of Object.entries(depositCases))
    if (each.needs === undefined) test(outcome, () => play(anvilDoor, each));
  for (const [outcome, each] of Object.entries(contractCases))
    test(outcome, () => play(anvilDoor, each));
});

async function play(door: Door, { history, deposits }: DepositCase): Promise<void> {
  await forgetChains(db);
  const scene = await openScene(db, door);
  try {
    await history(scene);
    await assertDeposits(scene, deposits ?? scene.paid.map(() => 'credited'));
    // Reading everything once more changes nothing in any case.
    await resumeChain(db, door.chain.name, 100n);
    await scene.read(await scene.reader());
    await assertDeposits(scene, deposits ?? scene.paid.map(() => 'credited'));
  } finally {
    await scene.close();
  }
}

async function assertDeposits(scene: Scene, deposits: string[]): Promise<void> {
  assert.deepEqual(await scene.states(), deposits);
  const credited = scene.paid.filter((_, i) => deposits[i] === 'credited');
  const sum = credited.reduce((total, units) => total + microOf(units, scene.chain.tokens[0]!), 0n);
  assert.equal(await availableTo(scene.db, scene.who), sum);
}
