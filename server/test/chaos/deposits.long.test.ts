import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaosOfDeposits } from './deposits.ts';

/** The short form of `npm run chaos -- deposits`. Every run prints its seed. */
const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);

test('500 deposits are each credited once, whatever is killed', { timeout: 600_000 }, async (t) => {
  const report = await chaosOfDeposits({ seed, deposits: 500, kills: 12 });
  t.diagnostic(JSON.stringify(report));
  t.diagnostic(
    `figure: ${report.deposits} deposits, 12 kills, ${report.violations.length} violations`,
  );
  assert.deepEqual(report.violations, []);
  assert.deepEqual(report.kills, { service: 4, worker: 4, postgres: 4 });
});
