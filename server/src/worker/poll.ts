import { failures } from '../core/errors.ts';
import type { Progress, Transition } from '../core/request/request.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { runBounded } from '../lib/bounded.ts';
import { failedTransition } from './end.ts';
import { finish } from './finish.ts';
import { costOf, costOfRun } from './job-cost.ts';
import { unfetchedMessage } from './unusable-output.ts';
import { isHeldElsewhere, resultIn } from './result-handle.ts';
import type { Handle, JobState, Upstream } from '../upstreams/upstream.ts';
import { isOff, startedAt, startedName } from './routes.ts';
import { boundedSeconds, waitTransition, type StepDeps } from './step.ts';
import { askToStop, endStopped } from './stop.ts';

const pollMaxSeconds = 60;
/** A job is given up after this many polls in a row in which its upstream does not know it. */
const missingMax = 3;
/** No job is lost earlier after its acceptance: the upstream's copies may lag behind. */
const settledSeconds = 45;
/** Pause between polls of a request that another machine will end: its spool has the result. */
const elsewhereSeconds = 60;
const logsMax = 50;
const logLineMax = 500;
/** Short, because the caller's money stays reserved during the last poll. */
const lastPollMs = 5_000;

/** Asks the upstream about a running job. */
export async function poll(
  row: ClaimedRequest,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<Transition> {
  const upstream = startedAt(row, deps);
  const { handle } = row;
  const { FAREBOX_POLL_SECONDS: pollSeconds } = deps.settings;
  if (handle && isHeldElsewhere(handle)) return waitTransition(row, elsewhereSeconds);
  const finished = handle && resultIn(handle);
  if (finished) return finish(row, finished, deps, signal);
  if (isOff(row))
    return waitTransition(row, pollSeconds, { message: 'its upstream is switched off' });
  if (!upstream) await deps.missingUpstream(startedName(row));
  if (!upstream || !handle)
    return waitTransition(row, pollSeconds, { message: 'its upstream is not configured' });
  const held = deps.circuit.pollWaitSeconds(upstream);
  // Spreads the polls, so that they do not all come when the pause ends.
  if (held > 0) return waitTransition(row, held + Math.random() * pollSeconds);
  const state = await runBounded(signal, deps.settings.FAREBOX_STEP_TIMEOUT_SECONDS * 1000, (own) =>
    upstream.poll(handle, own),
  );
  if (state.state === 'stopped' && row.stop !== null) return endStopped(row, state, deps);
  if (state.state === 'failed' || state.state === 'stopped')
    return failedTransition(row, state.code, state.message);
  if (state.state === 'done') return finish(row, state.result, deps, signal);
  if (state.state === 'missing') {
    const isLost = row.missing + 1 >= missingMax;
    if (isLost && row.stop !== null) return endStopped(row, {}, deps);
    if (isLost && (row.accepted_age_seconds ?? 0) >= settledSeconds)
      return failedTransition(row, 'upstream_failed', 'The model lost the job.', {
        cause: state.message,
      });
    return waitTransition(row, pollSeconds, { message: state.message, missing: true });
  }
  const wake_seconds = boundedSeconds(state.poll_after_ms, pollSeconds, pollMaxSeconds);
  const again = waitTransition(row, wake_seconds, { progress: progressIn(state) });
  if (!row.cancel_asked) return again;
  return askToStop(row, { upstream, handle }, again, deps, signal);
}

/** The progress that the upstream reported, cut to the size that is kept. */
function progressIn(state: Extract<JobState, { state: 'running' }>): Progress | null {
  const { progress = null, logs = [] } = state;
  if (progress === null && logs.length === 0) return null;
  return {
    progress: progress === null ? null : Math.min(1, Math.max(0, progress)),
    logs: logs.slice(-logsMax).map((line) => line.slice(0, logLineMax)),
  };
}

const noCapacity = 'No model had capacity for the request in the time allowed.';

/** Ends a request whose deadline has passed. If its job still runs, the operator bears the cost. */
export async function giveUp(
  row: ClaimedRequest,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<Transition> {
  const upstream = startedAt(row, deps);
  // A start abandoned for another route has an unknown outcome of its own, resolved separately.
  const handle = row.left ? null : row.handle;
  const seen = handle && (await lastPoll(handle, upstream, deps, signal));
  const isOver = seen !== null && ['done', 'failed', 'stopped'].includes(seen.state);
  if (handle && !isOver) await upstream?.cancel?.(handle, signal).catch(() => {});
  const isRefused = row.outcome === 'not_accepted' || row.left;
  const lost = row.started_in !== null && handle === null && !isRefused;
  const isUnfetched = row.unfetched_seconds !== null;
  const last = isUnfetched ? await lastFetch(row, seen, deps, signal) : null;
  if (last?.to === 'COMPLETED') return last;
  const code = lost ? 'outcome_unknown' : isUnfetched ? 'output_unusable' : 'timeout';
  deps.log.warn({ request_id: row.id, upstream: row.started_upstream, code }, 'request given up');
  const told = last?.to === 'FAILED' ? last : null;
  const unfetched = isUnfetched ? (told?.message ?? unfetchedMessage) : null;
  const message = isRefused ? noCapacity : (unfetched ?? failures[code]);
  const details = isUnfetched ? (told?.details ?? { reason: 'not_fetched' as const }) : undefined;
  const cost = lost ? null : lateCost({ ...row, handle }, seen, deps);
  return failedTransition(row, code, message, { cost, cause: row.said ?? message, details });
}

/** The job's present state, by at most one call; null if that does not show it. */
async function lastPoll(
  handle: Handle,
  upstream: Upstream | undefined,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<JobState | null> {
  const finished = resultIn(handle);
  if (finished) return { state: 'done', result: finished };
  if (!upstream || deps.circuit.pollWaitSeconds(upstream) > 0) return null;
  return runBounded(signal, lastPollMs, (own) => upstream.poll(handle, own)).catch(() => null);
}

/** The end of a job with the outputs that can be fetched now; null if that does not show it. */
async function lastFetch(
  row: ClaimedRequest,
  seen: JobState | null,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<Transition | null> {
  if (seen?.state !== 'done' || deps.storage.isAway()) return null;
  // The time for further tries is over.
  const over = { ...row, unfetched_seconds: Infinity };
  return finish(over, seen.result, deps, signal).catch(() => null);
}

/** The operator's cost of a job that was given up; null: unknown. */
function lateCost(row: ClaimedRequest, seen: JobState | null, deps: StepDeps): bigint | null {
  if (seen?.state === 'done') return costOfRun(row, seen.result, deps);
  if (seen?.state === 'stopped') return costOf(seen);
  return row.handle === null || seen?.state === 'failed' ? 0n : null;
}

/** Ends a chat call whose process died before it could settle. */
export async function abandon(row: ClaimedRequest): Promise<Transition> {
  return failedTransition(
    row,
    'outcome_unknown',
    'The call ended before its reply was complete. Nothing was charged.',
  );
}
