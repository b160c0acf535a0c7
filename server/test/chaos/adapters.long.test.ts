import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaosOfAdapters, crashLoop } from './adapters.ts';

/** The short form of `npm run chaos -- R2`. Every run prints its seed. */
const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);
const scene = (callbacks: boolean) => (point: string) => ({ point, callbacks });

test(
  'killed between intent and settlement, no adapter buys twice and nobody pays for what failed',
  { timeout: 600_000 },
  async (t) => {
    const report = await chaosOfAdapters({
      seed,
      scenes: [
        ...[
          'after the intent, before the call',
          'after the job is made, before the answer',
          'in the middle of a download',
          'after the outputs are stored, before the settlement',
          'after a cancel, before it is noted',
          'which the upstream never gets',
          'after the upstream has taken the call to stop',
          'after the job has stopped, before the settlement',
        ].map(scene(false)),
        ...[
          'after the job is made, before the answer',
          'after the job is made and called back',
          crashLoop,
        ].map(scene(true)),
      ],
      loopMs: 2_000,
      log: (line) => t.diagnostic(line),
    });
    const { violations, ...figures } = report;
    t.diagnostic(JSON.stringify(figures));
    const { kills, requests, repeats, unknown } = figures;
    t.diagnostic(
      `figure: ${kills} kills, ${requests} requests, ${repeats} starts repeated, ${unknown} of unknown outcome`,
    );
    assert.equal(violations.length, 0, `\n${violations.join('\n')}`);
    // A run without the dangerous paths proves nothing.
    assert.ok(report.kills >= 7, `only ${report.kills} processes were killed`);
    assert.ok(report.unknown > 0, 'no start was lost for good');
    assert.ok(report.repeats > 0, 'no start was repeated to an upstream that recognises it');
    assert.ok(report.missedCalls > 0, 'no call back came while no process lived');
    // The named points alone complete this many; how many unanswered starts the loop adds is
    // chance.
    assert.ok(report.completed > report.requests / 3, `only ${report.completed} completed`);
  },
);
