import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultRows } from './faults.ts';
import { chaos, type Fault } from './harness.ts';

/** The short forms of `npm run chaos`. Every run prints its seed. */
const upstreamFaults = { lose: 0.05, hang: 0.02, fail: 0.03, refuse: 0.03 };
const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);

test(
  'killed, paused and cut off in mid-flight it loses no request, pays no upstream twice and balances',
  { timeout: 600_000 },
  async (t) => {
    const faults: Fault[] = [
      'stop_worker',
      'lose_commits',
      'kill_worker',
      'jump_clock',
      'stop_worker',
      'kill_service',
      'hold_line',
      'kill_postgres',
      'exhaust_memory',
      'cut_line',
      'stop_worker',
      'lose_commits',
    ];
    const report = await chaos({
      seed,
      faults,
      rounds: faults.length,
      pauseMs: 500,
      submitters: 8,
      upstreamFaults,
    });
    t.diagnostic(JSON.stringify(report));
    assert.deepEqual(report.violations, []);
    // A run without the dangerous paths proves nothing.
    assert.equal(report.faults, faults.length);
    assert.ok(report.lostCommits > 0, 'no commit lost its answer');
    assert.ok(report.submitted >= 100, `only ${report.submitted} submits`);
    assert.ok(report.lostAnswers > 0, 'no answer was lost');
    assert.ok(report.repeats > 0, 'no start was repeated to the upstream that recognises it');
    assert.ok(report.fenced > 0, 'no late write was fenced');
    assert.ok(
      report.completed > report.submitted / 2,
      `only ${report.completed} of ${report.submitted} completed`,
    );
  },
);

for (const name of ['failover', 'pooler']) {
  const { fault, promise, scene } = faultRows[name]!;
  test(`${fault}: ${promise}`, { timeout: 600_000 }, async (t) => {
    const { figure, violations, missing } = await scene!.short!({ seed, log: () => {} });
    if (missing !== undefined) return t.skip(`not run: ${missing}`);
    t.diagnostic(`seed ${seed}: ${figure}`);
    assert.deepEqual(violations, []);
  });
}
