import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mulberry } from '../chaos/upstream.ts';
import { openBench } from './chat-billing-kit.ts';
import { randomScene } from './chat-scenes.ts';

/**
 * Random chat calls against the rule. CHAT_ROUNDS=5000 plays more; CHAT_SEED plays a run
 * again. Every run prints its seed, and a failure the call that failed.
 */
const rounds = Number(process.env.CHAT_ROUNDS ?? 300);
/** Rare cases may be missing in few rounds; then the test continues until all have come. */
const roundsMax = Math.max(rounds * 5, 1500);
const least = rounds / 100;
const seed = Number(process.env.CHAT_SEED ?? Date.now() % 1_000_000);

test(
  `${rounds} random calls, faults and leavings are charged by the rule to the micro-USD`,
  { timeout: 60_000 + roundsMax * 100 },
  async (t) => {
    t.diagnostic(`CHAT_SEED=${seed}`);
    const random = mulberry(seed);
    const bench = await openBench();
    // Also after a timeout, because an open server would keep the whole run waiting.
    t.after(() => bench.close());
    const seen = { paid: 0, free: 0, failed: 0, left: 0, clamped: 0, counted: 0 };
    for (let n = 0; n < rounds || (n < roundsMax && !isEnough(seen)); n++) {
      const { scene, framing, rushed } = randomScene(random);
      try {
        const { row, verdict } = await bench.play(scene, { framing, rushed });
        if (row.charged_usd_micro! > 0n) seen.paid++;
        else if (row.status === 'COMPLETED') seen.free++;
        else seen.failed++;
        if (scene.leaves !== null) seen.left++;
        if (row.charged_usd_micro === row.quoted_usd_micro) seen.clamped++;
        if (verdict.counted) seen.counted++;
      } catch (error) {
        const what = JSON.stringify({ seed, round: n, scene, framing, rushed });
        throw new Error(`${what}\n${(error as Error).message}`, { cause: error });
      }
    }
    await bench.proven();
    const { paid, free, failed, left } = seen;
    t.diagnostic(
      `figure: ${paid} paid, ${free} free, ${failed} failed, ${left} left by the caller`,
    );
    t.diagnostic(JSON.stringify(seen));
    // A run without the dangerous paths proves nothing.
    assert.ok(isEnough(seen), `not each of them ${least} times: ${JSON.stringify(seen)}`);
  },
);

/** Whether each path was taken, in a long run more than once. */
function isEnough(seen: Record<string, number>): boolean {
  return Object.values(seen).every((count) => count >= least);
}
