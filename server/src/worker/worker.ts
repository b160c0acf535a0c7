import type { ModelUpstream } from '../core/catalog/catalog.ts';
import { isEnd, stepFor, type Step, type Transition } from '../core/request/request.ts';
import { redactInput } from '../core/request/redact.ts';
import { routeAfter } from '../core/request/routing.ts';
import { loadClaimed, type ClaimedRequest } from '../db/requests/request-steps.ts';
import * as queue from '../db/requests/queue.ts';
import type { Hints } from '../db/hints.ts';
import { createBudget, type Budget } from '../lib/budget.ts';
import type { FairQueue } from '../lib/fair-queue.ts';
import { throttleLog } from '../lib/log-throttle.ts';
import { isAway } from '../lib/sql/sql.ts';
import { inSpan, type TraceSpan } from '../lib/trace.ts';
import { PollRefused } from '../upstreams/upstream.ts';
import { expire } from './expire.ts';
import { OutputNotFetched } from './fetch-output.ts';
import { finish } from './finish.ts';
import { discard, outputPrefix } from './keep-outputs.ts';
import { sweep } from './background/sweep.ts';
import { Leases } from './leases.ts';
import { notify } from './notify.ts';
import { abandon, giveUp, poll } from './poll.ts';
import { recover } from './recover.ts';
import { startedAt } from './routes.ts';
import { findSpooled, SpoolWatch } from './spooled.ts';
import { start } from './start.ts';
import { waitTransition, type StepDeps, type StepRun } from './step.ts';
import { callOff } from './stop.ts';
import { Backoff } from './backoff.ts';
import { paceMs, Sleep } from './sleep.ts';

/** Maximum claims per round: more would make the transaction long, fewer would need many rounds. */
const claimMax = 100;
/** Longest sleep of an idle worker. It bounds the delay if a hint about new work is lost. */
const idleMs = 1_000;
/** How often waiting requests of paused upstreams are moved to other routes. */
const rerouteMs = 1_000;
/** Pause after a round that failed, for example because the database cannot be reached. */
const faultMs = 500;
/** How much longer than the grace period a stopping worker waits for steps that it has aborted. */
const stuckMs = 1_500;
/** About how long a step waits for the next try if its share of a budget was used up. */
const surplusSeconds = 2;
/** How long work for an upstream that is not set up here is left to processes that have it. */
const orphanSeconds = 600;
const sweepMs = 60_000;

const steps: Record<Exclude<Step, 'idle'>, StepRun> = {
  start,
  recover,
  poll,
  give_up: giveUp,
  call_off: callOff,
  abandon,
  notify,
  expire,
};

export interface Worker {
  /** Claims and handles until stopped. */
  run(): Promise<void>;
  /** One round: claims what is due and waits until it is handled. Returns the number of claims. */
  runOnce(): Promise<number>;
  /** One round of deleting expired data. */
  sweep(): Promise<void>;
  /**
   * Stops claiming. After the grace period it aborts running steps and hands back requests that
   * have not started. Returns when no step is running, at most `stuckMs` after the grace period.
   */
  stop(graceMs: number): Promise<void>;
  inFlight(): number;
}

export interface WorkerDeps extends StepDeps {
  /** False while nothing may be claimed, for example on a restored copy. */
  mayWork: () => boolean;
  hints: Hints;
  observe: (step: Step, seconds: number, failed: boolean) => void;
}

export function createWorker(deps: WorkerDeps): Worker {
  return new ClaimingWorker(deps);
}

class ClaimingWorker implements Worker {
  readonly #deps: WorkerDeps;
  readonly #underWay = new Set<Promise<void>>();
  readonly #leases: Leases;
  readonly #backoff: Backoff;
  /** True once running steps have been aborted. */
  #gaveUp = false;
  readonly #sleep = new Sleep();
  /**
   * Notifications may use a quarter of the worker's capacity, and one account half of this quarter,
   * so that a receiver that does not answer cannot hold up jobs or other notifications.
   */
  readonly #notices: Budget;
  /** Steps that call upstreams, by upstream: a hanging upstream leaves capacity to the others. */
  readonly #calls: Budget;
  readonly #spooled: SpoolWatch;
  #running: Promise<void> | undefined;
  #draining = false;
  #rerouteAt = 0;

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    const share = (part: number) =>
      Math.max(1, Math.floor(deps.settings.FAREBOX_WORKER_CONCURRENCY / part));
    this.#notices = createBudget(share(4), share(8));
    this.#backoff = new Backoff(deps.settings.FAREBOX_POLL_SECONDS);
    this.#calls = createBudget(
      deps.settings.FAREBOX_WORKER_CONCURRENCY,
      // guard: hanging-upstream-leaves-slots (off: Infinity)
      null,
    );
    this.#spooled = new SpoolWatch(deps.spool);
    const { db, log, settings } = deps;
    const { FAREBOX_LEASE_SECONDS: leaseSeconds } = settings;
    this.#leases = new Leases(
      leaseSeconds,
      (claims) => queue.renewMany(db, claims, leaseSeconds),
      (err) => log.warn({ err }, 'leases could not be renewed'),
    );
  }

  run(): Promise<void> {
    return (this.#running ??= this.#loop());
  }

  async runOnce(): Promise<number> {
    const count = await this.#round();
    await Promise.all(this.#underWay);
    return count;
  }

  sweep(): Promise<void> {
    return sweep(this.#deps, this.#spooled, () => this.#draining);
  }

  async stop(graceMs: number): Promise<void> {
    this.#draining = true;
    this.#sleep.wake(true);
    await this.#running;
    const abort = setTimeout(() => {
      this.#gaveUp = true;
      this.#leases.stopAll();
    }, graceMs);
    let last: NodeJS.Timeout | undefined;
    // A step that ignores its signal is left running; its lease expires without renewal.
    const late = new Promise((resolve) => (last = setTimeout(resolve, graceMs + stuckMs)));
    await Promise.race([Promise.all(this.#underWay), late]);
    clearTimeout(abort);
    clearTimeout(last);
    this.#leases.close();
  }

  inFlight(): number {
    return this.#underWay.size;
  }

  async #loop(): Promise<void> {
    const { db, hints, log } = this.#deps;
    const tellFailed = throttleLog((told) => log.error(told, 'worker round failed'));
    const offWork = hints.on('work', () => this.#sleep.wake(false));
    const sweeper = setInterval(
      () => void this.sweep().catch((err) => log.warn({ err }, 'sweep failed')),
      sweepMs,
    );
    try {
      while (!this.#draining) {
        try {
          const count = await this.#round();
          if (count > 0) await this.#sleep.wait(paceMs, false);
          else
            await this.#sleep.wait(
              Math.min(idleMs, (await queue.readNextDueMs(db)) ?? idleMs),
              true,
            );
        } catch (error) {
          // A lost connection is logged once, by the connection itself.
          if (!isAway(error)) tellFailed(error);
          await this.#sleep.wait(faultMs, false);
        }
      }
    } finally {
      offWork();
      clearInterval(sweeper);
    }
  }

  async #round(): Promise<number> {
    const { db, settings, mayWork } = this.#deps;
    const free = settings.FAREBOX_WORKER_CONCURRENCY - this.#underWay.size;
    if (free <= 0 || !mayWork()) return 0;
    await this.#reroute();
    const claims = await this.#claim(free);
    if (claims.length === 0) return 0;
    const rows = await loadClaimed(db, claims);
    const surplus: queue.Claim[] = [];
    for (const row of rows) {
      const step = stepOf(row);
      const giveBack = this.#share(step, row);
      if (giveBack === null) {
        surplus.push(row);
        continue;
      }
      const handled = this.#handle(row, step).finally(() => {
        giveBack();
        this.#underWay.delete(handled);
        if (this.#underWay.size >= settings.FAREBOX_WORKER_CONCURRENCY - claimMax)
          this.#sleep.wake(false);
      });
      this.#underWay.add(handled);
    }
    if (surplus.length > 0) await queue.putOff(db, surplus, surplusSeconds);
    return claims.length;
  }

  /** Takes the step's share of its budget; null if that is used up. */
  #share(step: Step, row: ClaimedRequest): (() => void) | null {
    const [shares, owner] =
      step === 'notify'
        ? [this.#notices, row.account_id]
        : isCall(step)
          ? [this.#calls, row.started_upstream ?? row.upstream]
          : [null, ''];
    if (shares === null) return () => {};
    return shares.take(owner, 1) ? () => shares.give(owner, 1) : null;
  }

  /** Moves requests that wait for a paused route to the next route of their model. */
  async #reroute(): Promise<void> {
    const now = performance.now();
    if (now < this.#rerouteAt) return;
    this.#rerouteAt = now + rerouteMs;
    const { db, upstreams, catalog } = this.#deps;
    const paused = await queue.listPausedQueues(db);
    if (paused.length === 0) return;
    const rows = [...catalog().models.values()];
    const pauseOf = await queue.readPauses(
      db,
      rows.flatMap((row) => row.upstreams),
    );
    const isOpen = (route: ModelUpstream) => upstreams.has(route.upstream) && pauseOf(route) === 0;
    for (const from of paused) {
      const isFrom = ({ upstream, model }: ModelUpstream) =>
        upstream === from.upstream && (from.model === '' || model === from.model);
      const moves = new Map<string, { upstream: string; model: string | null; ids: string[] }>();
      for (const { id, upstreams: routes } of rows) {
        const at = routes.findIndex(isFrom);
        const next = at < 0 ? null : routeAfter(routes, at, isOpen);
        if (next === null) continue;
        const { upstream } = next.route;
        const model = upstream === from.upstream ? next.route.model : null;
        const key = JSON.stringify([upstream, model]);
        moves.set(key, { upstream, model, ids: [...(moves.get(key)?.ids ?? []), id] });
      }
      for (const { ids, ...to } of moves.values())
        await queue.moveQueued(db, from, to, ids, claimMax);
    }
  }

  async #claim(free: number): Promise<queue.Claim[]> {
    const { db, upstreams, settings, storage } = this.#deps;
    const [due, waiting, held] = await Promise.all([
      queue.claimDue(db, Math.min(free, claimMax), settings.FAREBOX_LEASE_SECONDS),
      // While the storage is away no job is started, because its result could not be stored.
      storage.isAway() ? [] : queue.listWaitingUpstreams(db),
      this.#claimHeld(Math.min(free, claimMax)),
    ]);
    const claims = [...due, ...held];
    let left = free - claims.length;
    for (const { upstream, oldest_seconds, paused_models, stopped_models } of waiting) {
      if (left <= 0) break;
      const known = upstreams.get(upstream);
      // Another process may have this upstream set up. If none has taken the work for
      // `orphanSeconds`, this one claims it and ends it.
      if (!known && oldest_seconds < orphanSeconds) continue;
      const concurrency = known?.concurrency ?? 1;
      const from = { upstream, paused_models, stopped_models, concurrency };
      const room = Math.min(left, claimMax, this.#calls.leftFor(upstream));
      if (room <= 0) continue;
      const queued = await queue.claimQueued(db, from, room, settings.FAREBOX_LEASE_SECONDS);
      claims.push(...queued);
      left -= queued.length;
    }
    return claims;
  }

  /**
   * Claims requests whose results are in this process's spool: no other machine can finish them.
   */
  async #claimHeld(limit: number): Promise<queue.Claim[]> {
    const { db, settings, storage } = this.#deps;
    const { ids, orphans } = this.#spooled.due(storage.isAway(), limit);
    if (ids.length === 0) return [];
    const claims = await queue.claimHeld(db, ids, orphans, settings.FAREBOX_LEASE_SECONDS);
    this.#spooled.taken(ids, storage.isAway());
    return claims;
  }

  #handle(row: ClaimedRequest, step: Step): Promise<void> {
    const span = this.#spanOf(row, step);
    return span ? inSpan(span, () => this.#advance(row, step, span)) : this.#advance(row, step);
  }

  /** A job is recorded if its submit was. */
  #spanOf({ traceparent, ...row }: ClaimedRequest, step: Step): TraceSpan | undefined {
    if (traceparent === null) return undefined;
    return this.#deps.tracer?.begin(`job ${step}`, {
      kind: 'internal',
      parent: { own: traceparent },
      attributes: {
        'farebox.request_id': row.id,
        'farebox.account_id': row.account_id,
        'farebox.model_id': row.model_id,
        'farebox.attempt': row.attempt,
      },
    });
  }

  async #advance(row: ClaimedRequest, step: Step, span?: TraceSpan): Promise<void> {
    const { operations, observe } = this.#deps;
    const begun = performance.now();
    const end = this.#leases.hold(row, this.#limitSeconds(step, row) * 1000);
    let failed = false;
    try {
      const transition = await this.#runStep(step, row, end);
      const moved = transition === null || (await operations.advance(transition));
      // Only after the write, because an ending that cannot be written also counts as a failure.
      this.#backoff.succeeded(row.id);
      // Another attempt finished first, so its outputs are kept and these are discarded.
      if (!moved && transition.to === 'COMPLETED') {
        await discard(row, transition.outputs.length, this.#deps);
      }
      if (moved && (transition?.to === 'FAILED' || transition?.to === 'CANCELLED'))
        await this.#forgetOutputs(row);
      if (moved && transition && isEnd(transition)) await this.#spooled.remove(row.id);
      endStep(span, transition);
    } catch (error) {
      failed = true;
      span?.end('step_failed');
      // guard: unwritten-end-backs-off
      await this.#retryLater(row, step, error);
    } finally {
      end.release();
      observe(step, (performance.now() - begun) / 1000, failed);
    }
  }

  /** Removes outputs that an attempt whose process died may have stored: no row refers to them. */
  async #forgetOutputs(row: ClaimedRequest): Promise<void> {
    const { storage, log } = this.#deps;
    if (row.started_in === null || storage.isAway()) return;
    await storage.removeAll(outputPrefix(row.id)).catch((err: unknown) => {
      log.warn({ request_id: row.id, err }, 'outputs of a failed request could not be removed');
    });
  }

  /**
   * Time limit of a step. A step that calls an upstream gets that upstream's own limit if it is
   * longer, plus the time for fetching outputs.
   */
  #limitSeconds(step: Step, row: ClaimedRequest): number {
    const { settings, upstreams } = this.#deps;
    if (!isCall(step)) return settings.FAREBOX_STEP_TIMEOUT_SECONDS;
    const { start_seconds = 0 } = upstreams.get(row.upstream) ?? {};
    return (
      Math.max(settings.FAREBOX_STEP_TIMEOUT_SECONDS, start_seconds) +
      settings.FAREBOX_OUTPUT_SECONDS
    );
  }

  async #runStep(
    step: Step,
    row: ClaimedRequest,
    { signal, aside }: ReturnType<Leases['hold']>,
  ): Promise<Transition | null> {
    const { decoding } = this.#deps;
    // Jobs that take turns with their outputs would otherwise all run out of time together.
    const run: FairQueue['run'] = (owner, work, turn) =>
      decoding.run(owner, work, { ...turn, aside });
    const deps = { ...this.#deps, decoding: { run } };
    if (step === 'idle') return { id: row.id, attempt: row.attempt, to: 'idle' };
    const isBegun = row.status === 'IN_PROGRESS' && row.started_in !== null;
    const found = isBegun ? await findSpooled(row.id, this.#deps.spool) : null;
    if (found)
      return finish({ ...row, started_upstream: found.upstream }, found.result, deps, signal);
    return steps[step](row, deps, signal);
  }

  /** After a failed step: sets an earlier `wake_at`, so as not to wait for the end of the lease. */
  async #retryLater(row: ClaimedRequest, step: Step, error: unknown): Promise<void> {
    const { log, operations } = this.#deps;
    const { id, attempt } = row;
    const upstream = row.started_upstream ?? row.upstream;
    const refused = error instanceof PollRefused ? error : null;
    const asked = refused === null ? 0 : await this.#noteRefused(row, refused);
    const wake_seconds = Math.max(this.#backoff.failed(id), asked);
    const failed = this.#backoff.logDue(upstream);
    const facts = { request_id: id, model_id: row.model_id, upstream, step, why: refused?.why };
    if (failed !== null)
      log.warn({ ...facts, failed, err: error }, 'step failed, will be tried again');
    const handedBack: Transition = { id, attempt, to: 'requeue' };
    const unfetched_seconds = error instanceof OutputNotFetched ? error.seconds : null;
    const again = waitTransition(row, wake_seconds, { message: String(error), unfetched_seconds });
    const unbegun = row.status === 'IN_QUEUE' && this.#gaveUp;
    await operations.advance(unbegun ? handedBack : again).catch(() => {});
  }

  /** Returns for how many seconds the upstream must not be called. */
  async #noteRefused(row: ClaimedRequest, refused: PollRefused): Promise<number> {
    const { log, circuit } = this.#deps;
    const upstream = startedAt(row, this.#deps) ?? { name: row.started_upstream ?? row.upstream };
    const { message, why, retry_after_ms } = refused;
    const cause = redactInput(message, row.input);
    const { model_id } = row;
    try {
      return await circuit.pollRefused(upstream, { model_id, why, cause, retry_after_ms });
    } catch (err) {
      log.warn({ upstream: upstream.name, why, err }, 'a refused poll could not be recorded');
      return circuit.pollWaitSeconds(upstream);
    }
  }
}

/** A poll that finds the job running leaves no span, or a long job would have hundreds. */
function endStep(span: TraceSpan | undefined, transition: Transition | null): void {
  if (transition?.to === 'requeue' || (transition?.to === 'wait' && transition.outcome === null))
    return;
  span?.note({ 'farebox.transition': transition?.to });
  span?.end(transition?.to === 'FAILED' ? transition.code : undefined);
}

function isCall(step: Step): boolean {
  return step === 'start' || step === 'recover' || step === 'poll';
}

function stepOf(row: ClaimedRequest): Step {
  const { started_in, outcome, handle, left } = row;
  const started = started_in === null ? null : { has_handle: handle !== null, outcome, left };
  return stepFor({ ...row, started });
}
