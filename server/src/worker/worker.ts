import { stepFor, type Step, type Transition } from '../core/request.ts';
import { loadClaimed, type Claimed } from '../db/requests.ts';
import { claimDue, claimQueued, nextAlarmMs, waitingUpstreams, type Claim } from '../db/queue.ts';
import * as files from '../db/files.ts';
import * as requests from '../db/requests.ts';
import type { Hints } from '../db/hints.ts';
import { expire } from './expire.ts';
import { notify } from './notify.ts';
import { abandon, giveUp, poll } from './poll.ts';
import { recover, start } from './start.ts';
import type { StepDeps, StepRun } from './step.ts';

/** Claims of one round: more would make the transaction long, fewer would make many. */
const claimMax = 100;
/** How long an idle worker sleeps at most: what it notices even when every hint is lost. */
const idleMs = 1_000;
/** Rounds of a busy worker are at least so far apart, so that each takes a fair number. */
const paceMs = 5;
/** After a round that failed, such as when the database is away. */
const faultMs = 500;
const sweepMs = 60_000;
const sweepLimit = 500;
const idempotencyDays = 30;

const steps: Record<Exclude<Step, 'rest'>, StepRun> = {
  start,
  recover,
  poll,
  give_up: giveUp,
  abandon,
  notify,
  expire,
};

export interface Worker {
  /** Claims and handles until stopped. */
  run(): Promise<void>;
  /**
   * One round: claims what is due now and waits until it is handled. Returns how many there were.
   */
  runOnce(): Promise<number>;
  /** One round of clearing away what has expired. */
  sweep(): Promise<void>;
  /**
   * Claims no more; hands back what has not begun within the grace, and returns when nothing is
   * under way.
   */
  stop(graceMs: number): Promise<void>;
  inFlight(): number;
}

export interface WorkerDeps extends StepDeps {
  hints: Hints;
  observe: (step: Step, seconds: number, failed: boolean) => void;
}

export function createWorker(deps: WorkerDeps): Worker {
  const { db, settings } = deps;
  const underWay = new Set<Promise<void>>();
  const stopping = new AbortController();
  let wake: () => void = () => {};
  let running: Promise<void> | undefined;
  let draining = false;

  async function claim(free: number): Promise<Claim[]> {
    const due = await claimDue(db, Math.min(free, claimMax), settings.leaseSeconds);
    let left = free - due.length;
    const claims = [...due];
    if (left <= 0) return claims;
    for (const name of await waitingUpstreams(db)) {
      // A queue of an upstream that is not configured here is left to a process that has it, or to
      // its give-up.
      const concurrency = deps.upstreams.get(name)?.concurrency ?? 1;
      if (left <= 0) break;
      const lane = { upstream: name, concurrency };
      const queued = await claimQueued(db, lane, Math.min(left, claimMax), settings.leaseSeconds);
      claims.push(...queued);
      left -= queued.length;
    }
    return claims;
  }

  async function round(): Promise<number> {
    const free = settings.concurrency - underWay.size;
    if (free <= 0) return 0;
    const claims = await claim(free);
    if (claims.length === 0) return 0;
    const rows = await loadClaimed(
      db,
      claims.map((c) => c.id),
      claims.map((c) => c.attempt),
    );
    for (const row of rows) {
      const handled = handle(row).finally(() => {
        underWay.delete(handled);
        if (underWay.size >= settings.concurrency - claimMax) wake();
      });
      underWay.add(handled);
    }
    return claims.length;
  }

  async function handle(row: Claimed): Promise<void> {
    const step = stepFor({
      ...row,
      started:
        row.started_in === null ? null : { has_handle: row.handle !== null, outcome: row.outcome },
    });
    const begun = performance.now();
    const timeout = AbortSignal.timeout(settings.stepTimeoutSeconds * 1000);
    let failed = false;
    try {
      const transition = await runStep(step, row, AbortSignal.any([timeout, stopping.signal]));
      if (transition) await deps.advance(transition);
    } catch (error) {
      failed = true;
      await retryLater(row, step, error);
    } finally {
      deps.observe(step, (performance.now() - begun) / 1000, failed);
    }
  }

  async function runStep(
    step: Step,
    row: Claimed,
    signal: AbortSignal,
  ): Promise<Transition | null> {
    if (step === 'rest') return { id: row.id, attempt: row.attempt, to: 'rest' };
    return steps[step](row, deps, signal);
  }

  /**
   * The step could not be carried out. Its lease would end by itself; a set alarm makes the next
   * try sooner.
   */
  async function retryLater(row: Claimed, step: Step, error: unknown): Promise<void> {
    const { id, attempt, started_in } = row;
    deps.log.warn({ request_id: id, step, err: error }, 'step failed, will be tried again');
    const handedBack: Transition = { id, attempt, to: 'requeue' };
    const again: Transition = {
      id,
      attempt,
      to: 'wait',
      wake_seconds: settings.pollSeconds,
      started_in,
      outcome: null,
      message: String(error),
      progress: null,
    };
    const unbegun = row.status === 'IN_QUEUE' && stopping.signal.aborted;
    await deps.advance(unbegun ? handedBack : again).catch(() => {});
  }

  async function loop(): Promise<void> {
    const offWork = deps.hints.onWork(() => wake());
    const sweeper = setInterval(
      () => void sweep().catch((err) => deps.log.warn({ err }, 'sweep failed')),
      sweepMs,
    );
    try {
      while (!draining) {
        try {
          const count = await round();
          if (count > 0) await rest(paceMs, false);
          else await rest(Math.min(idleMs, (await nextAlarmMs(db)) ?? idleMs), true);
        } catch (error) {
          deps.log.error({ err: error }, 'worker round failed');
          await rest(faultMs, false);
        }
      }
    } finally {
      offWork();
      clearInterval(sweeper);
    }
  }

  let hinted = false;
  /** Sleeps, or not at all when a hint came while the round was on. */
  function rest(ms: number, wakeable: boolean): Promise<void> {
    if (wakeable && hinted) ms = 0;
    hinted = false;
    return new Promise((resolve) => {
      const timer = setTimeout(done, Math.max(ms, paceMs));
      wake = () => {
        hinted = true;
        if (wakeable || draining) done();
      };
      function done(): void {
        clearTimeout(timer);
        wake = () => (hinted = true);
        resolve();
      }
    });
  }

  async function sweep(): Promise<void> {
    for (const { storage_key } of await files.takeExpired(db, sweepLimit)) {
      await deps.storage.remove(storage_key);
    }
    await requests.forgetKeys(db, idempotencyDays, sweepLimit);
  }

  return {
    run: () => (running ??= loop()),
    async runOnce() {
      const count = await round();
      await Promise.all(underWay);
      return count;
    },
    sweep,
    async stop(graceMs) {
      draining = true;
      wake();
      await running;
      const timer = setTimeout(() => stopping.abort(), graceMs);
      await Promise.all(underWay);
      clearTimeout(timer);
    },
    inFlight: () => underWay.size,
  };
}
