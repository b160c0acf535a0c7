import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultRows } from './faults.ts';

/** In a file of its own, because its programs are slow to start. */

const { fault, promise, scene } = faultRows.patroni!;
const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);

test(`${fault}: ${promise}`, { timeout: 600_000 }, async (t) => {
  const { figure, violations, missing } = await scene!.short!({ seed, log: () => {} });
  if (missing !== undefined) return t.skip(`not run: ${missing}`);
  t.diagnostic(`seed ${seed}: ${figure}`);
  assert.deepEqual(violations, []);
});
