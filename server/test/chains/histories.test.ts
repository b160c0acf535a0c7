import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { withDatabase } from '../kit/with-database.ts';
import { isLong } from '../kit/long.ts';
import { play, step } from './histories.ts';

/** More histories: `npm run test:full`, or HISTORY_RUNS=1000. HISTORY_SEED repeats a run. */
const numRuns = Number(process.env.HISTORY_RUNS ?? (isLong ? 60 : 3));
const seed = Number(process.env.HISTORY_SEED ?? Date.now() % 2 ** 31);

const { db } = withDatabase();

test(`the chain’s truth is credited, once: ${numRuns} histories, HISTORY_SEED=${seed}`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }),
      async (steps) => {
        assert.deepEqual(await play(db, steps), []);
      },
    ),
    { numRuns, seed },
  );
});
