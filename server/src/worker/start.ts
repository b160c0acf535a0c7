import { createHash } from 'node:crypto';
import type { Model, ModelUpstream } from '../core/catalog/catalog.ts';
import { mediaInputs } from '../core/catalog/media-input.ts';
import { redactInput } from '../core/request/redact.ts';
import { upstreamFields, upstreamInput } from '../core/catalog/model-input.ts';
import { sizedInput } from '../core/catalog/stated-size.ts';
import type { Transition } from '../core/request/request.ts';
import { routeAfter, routesAfter, routeTo } from '../core/request/routing.ts';
import { isOfKey } from '../core/catalog/upstream-key.ts';
import { takeSlot } from '../db/requests/queue.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { runBounded } from '../lib/bounded.ts';
import { canonicalJson } from '../lib/json.ts';
import { gatherFiles } from '../operations/requests/stored-inputs.ts';
import { besides, holdingInputs } from '../upstreams/held-inputs.ts';
import { outcomeUnprepared } from '../upstreams/inputs.ts';
import { byKey } from '../upstreams/keys.ts';
import { filesOfData, fitInputs } from '../upstreams/open-media.ts';
import type {
  InputShares,
  NotAccepted,
  StartJob,
  StartOutcome,
  Upstream,
} from '../upstreams/upstream.ts';
import { failedTransition } from './end.ts';
import { finish } from './finish.ts';
import { finishedHandle } from './result-handle.ts';
import { handleLost } from './lost.ts';
import {
  callbackOf,
  isLeft,
  isOff,
  routePauseMaxSeconds,
  routePauses,
  startedAt,
  type ChosenRoute,
} from './routes.ts';
import { boundedSeconds, triedTransition, waitTransition, type StepDeps } from './step.ts';

/** Longest pause before the next try, or before the first poll, that an upstream may ask for. */
const retryMaxSeconds = 120;
const retrySeconds = 2;
/** Pauses between tries grow to about this. */
const retryPauseMaxSeconds = 60;
const slotKeptSeconds = 5;
/** How often a request that is tried again looks for a slot at its other routes. */
const slotSeconds = 2;
/** Allowance for timers that fire a little early. */
const timerSlackMs = 5;
/** How often a waiting start checks whether the storage is back or its model is resumed. */
const storageSeconds = 5;
const resumeSeconds = 30;

/**
 * Sends a request to its upstream. The intent is committed before the call, and the answer right
 * after it.
 */
export async function start(
  row: ClaimedRequest,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<Transition | null> {
  if (deps.storage.isAway()) return later(row, storageSeconds);
  // A start that may have made the job is repeated even if the model is stopped, to find that job.
  if (row.stopped && !isRepeat(row)) return later(row, resumeSeconds);
  const model = deps.catalog().models.get(row.model_id);
  const meant = model && routeOf(row, model, deps);
  // At another route the repeat would make a second job.
  if (model && isRepeat(row) && (isOff(row) || meant?.upstream !== row.upstream))
    return later(row, resumeSeconds);
  if (model && !meant && model.upstreams.some((route) => isClosed(row, route)))
    return later(row, resumeSeconds);
  if (!model || !meant) {
    return failedTransition(
      row,
      'upstream_failed',
      'This model was withdrawn before the request could start.',
    );
  }
  const route = await routeWithSlot(row, model, meant, deps);
  if (route === null) return notYet(row);
  const upstream = await withKey(row, route, deps);
  const { id, attempt } = row;
  const job = await prepare(row, { model, route }, deps, signal);
  if (job === null) {
    return failedTransition(
      row,
      'upstream_rejected',
      'A file or output that the input names is no longer kept. Upload it again.',
    );
  }
  // If the step was aborted, nothing has been sent yet and another worker may begin.
  signal.throwIfAborted();
  // guard: intent-before-call
  const begun = await deps.operations.advance({
    id,
    attempt,
    to: 'begin',
    upstream: upstream.name,
    model: route.model,
    class: upstream.class,
    key: upstream.key ?? null,
    request_hash: hashOf(job),
    deadline_seconds: model.job_age_seconds,
    lease_seconds: deps.settings.FAREBOX_LEASE_SECONDS,
  });
  // Cancelled in this moment, or claimed by another worker: nothing was sent, and nothing will be.
  // guard: intent-before-call
  // guard: refused-intent-sends-nothing
  if (!begun) return null;
  const called = { model, route, key: upstream.key ?? null, began: performance.now() };
  const outcome = await call(upstream, job, row, route, deps);
  const started = { ...row, upstream: upstream.name, upstream_model: route.model };
  return answer(started, outcome, called, deps, signal);
}

/** The request may not start now; if it is queued, it stays in the queue. */
function later(row: ClaimedRequest, seconds: number): Transition {
  if (row.status === 'IN_QUEUE') return { id: row.id, attempt: row.attempt, to: 'requeue' };
  const frees_slot = seconds > slotKeptSeconds;
  return waitTransition(row, seconds * (0.5 + Math.random()), { frees_slot });
}

/** The request's own route, or the next one that is set up. */
function routeOf(
  row: ClaimedRequest,
  model: Model,
  { upstreams }: StepDeps,
): ModelUpstream | undefined {
  const isOpen = (route: ModelUpstream) =>
    upstreams.has(route.upstream) && !isLeft(row, route) && !isClosed(row, route);
  const meant = routeTo(model.upstreams, row.upstream, row.upstream_model);
  if (meant && isOpen(meant)) return meant;
  return model.upstreams.find(isOpen);
}

/**
 * Whether an operator lets nothing new start there. A start that may have made the job is repeated
 * there even so, to find that job.
 */
function isClosed(row: ClaimedRequest, { upstream }: ModelUpstream): boolean {
  return upstream in row.closed && !(isRepeat(row) && upstream === row.upstream);
}

/**
 * The route at which the request has a slot. This is its own route, or, for a request that was
 * tried before, another route that is not paused. Null if all slots are taken.
 */
async function routeWithSlot(
  row: ClaimedRequest,
  model: Model,
  meant: ModelUpstream,
  deps: StepDeps,
): Promise<ModelUpstream | null> {
  if (row.slot && row.upstream === meant.upstream) return meant;
  if (await takeAt(row, meant, deps)) return meant;
  if (row.status === 'IN_QUEUE' || isRepeat(row)) return null;
  const pauseOf = await routePauses(model, deps);
  // Routes that were already tried are tried again only after the pause between tries.
  const isPaused = (row.start_age_seconds ?? Infinity) < pauseSeconds(row.starts);
  const others = routesAfter(model.upstreams, model.upstreams.indexOf(meant));
  for (const { route, again } of others) {
    if (route.upstream === meant.upstream || pauseOf(route) > 0) continue;
    // guard: refused-upstream-rests
    if (again && isPaused) continue;
    if (isLeft(row, route)) continue;
    if (await takeAt(row, route, deps)) return route;
  }
  return null;
}

function takeAt(row: ClaimedRequest, { upstream, model }: ModelUpstream, deps: StepDeps) {
  const { concurrency } = deps.upstreams.get(upstream)!;
  return takeSlot(deps.db, row, { upstream, model, concurrency });
}

/**
 * No slot was free, so the request waits; a request that is tried again waits in line with the
 * queue.
 */
function notYet(row: ClaimedRequest): Transition {
  if (row.status === 'IN_QUEUE') return { id: row.id, attempt: row.attempt, to: 'requeue' };
  return {
    ...waitTransition(row, slotSeconds * (0.5 + Math.random())),
    // guard: refused-keeps-its-turn
    waits: true,
  };
}

/**
 * The upstream with its next key. A start whose answer was lost is repeated with the same key,
 * because the upstream would not recognise it with another.
 */
async function withKey(
  row: ClaimedRequest,
  route: ModelUpstream,
  deps: StepDeps,
): Promise<Upstream> {
  const same = isRepeat(row) ? startedAt(row, deps) : undefined;
  if (same?.name === route.upstream) return same;
  const { keyFor } = deps.circuit;
  const key = (await keyFor(route, row.refused_keys ?? [])) ?? (await keyFor(route, []));
  return byKey(deps.upstreams.get(route.upstream), key)!;
}

/** Whether the newest start may have made the job. */
function isRepeat({ started_in, outcome, left }: ClaimedRequest): boolean {
  return started_in !== null && !left && (outcome === null || outcome === 'unknown');
}

/** Null if the input refers to a file that is no longer stored. */
async function prepare(
  row: ClaimedRequest,
  { model, route }: ChosenRoute,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<UnsharedJob | null> {
  const { db, storage, settings } = deps;
  const { links, secrets } = settings;
  const stores = { db, storage, links, secrets };
  const stored = await gatherFiles(mediaInputs(row.input), row.account_id, stores);
  if (stored === null) return null;
  const takes = model.input_types ?? null;
  return {
    request_id: row.id,
    idempotency_key: row.id,
    model: route.model,
    task: model.task,
    input: upstreamInput(model, route, sizedOrNot(row.input, model), row.quote.assumptions),
    fields: upstreamFields(model, route),
    files: { ...stored, ...(await filesOfData(row.input, takes)) },
    takes,
    callback_url: callbackOf(row, row.attempt, route.upstream, deps),
    signal,
  };
}

/** The input as it was priced, unless the row changed meanwhile and no longer makes the size. */
function sizedOrNot(input: Record<string, unknown>, model: Model): Record<string, unknown> {
  try {
    return sizedInput(input, model).input;
  } catch {
    return input;
  }
}

function hashOf(job: Pick<StartJob, 'model' | 'input'>): Buffer {
  return createHash('sha256')
    .update(canonicalJson({ model: job.model, input: job.input }))
    .digest();
}

/** A job before it has the shares of its account. */
type UnsharedJob = Omit<StartJob, keyof InputShares>;

/** Makes the files fit and calls the adapter. */
function call(
  upstream: Upstream,
  job: UnsharedJob,
  row: ClaimedRequest,
  route: ModelUpstream,
  deps: StepDeps,
): Promise<StartOutcome> {
  // Files have a time limit of their own, or a slow one would leave the upstream too little.
  const ms = 1000 * deps.settings.FAREBOX_STEP_TIMEOUT_SECONDS;
  return holdingInputs(deps, row, async (shares) => {
    const fit = await runBounded(job.signal, ms, (signal) =>
      fitInputs({ ...job, ...shares, signal }),
    ).catch(outcomeUnprepared);
    if ('outcome' in fit) return fit;
    return callAdapter(upstream, { ...fit, signal: job.signal }, route, deps);
  });
}

/** If the adapter throws, the outcome is unknown: the upstream may have made the job. */
async function callAdapter(
  upstream: Upstream,
  job: StartJob,
  { first_byte_seconds = Infinity }: ModelUpstream,
  deps: StepDeps,
): Promise<StartOutcome> {
  const seconds = upstream.start_seconds ?? deps.settings.FAREBOX_STEP_TIMEOUT_SECONDS;
  const isSynchronous = upstream.synchronous?.has(job.task) ?? false;
  // guard: slow-image-let-go
  const limit = isSynchronous ? Math.min(seconds, first_byte_seconds) : seconds;
  let leftMs = () => Infinity;
  const outcome = await runBounded(job.signal, 1000 * limit, (signal, time) => {
    ({ leftMs } = time);
    return upstream.start({ ...job, ...besides(job, time), signal });
  }).catch((error): StartOutcome => ({ outcome: 'unknown', message: String(error) }));
  const isSlow = leftMs() <= timerSlackMs;
  return outcome.outcome === 'unknown' && isSlow ? { ...outcome, answer: 'slow' } : outcome;
}

/** `key`: which of several keys was used; `began`: when the call was made. */
type StartCall = ChosenRoute & { key: string | null; began: number };

async function answer(
  row: ClaimedRequest,
  outcome: StartOutcome,
  chosen: StartCall,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<Transition | null> {
  const { id, attempt } = row;
  if (outcome.outcome === 'not_accepted') return elsewhere(row, outcome, chosen, deps);
  if (outcome.outcome === 'unknown') {
    await noteFailure(row, outcome, chosen, deps);
    return handleLost(row, outcome, chosen, deps);
  }
  if (outcome.outcome !== 'rejected' || !outcome.unasked) {
    const { route, key, began } = chosen;
    await deps.circuit.noteSuccess({ ...route, key }, row.account_id, began);
  }
  if (outcome.outcome === 'rejected')
    return failedTransition(row, 'upstream_rejected', outcome.message);
  if (outcome.outcome === 'done') {
    const { result } = outcome;
    const handle = finishedHandle(result);
    // A result that can be fetched later is recorded first, so that a crash does not lead to a
    // second job.
    if (handle)
      return { id, attempt, to: 'accepted', started_in: attempt, handle, wake_seconds: 0 };
    const answered = { ...row, started_in: attempt, started_upstream: row.upstream, handle: null };
    return finish(answered, result, deps, signal);
  }
  const wake_seconds = boundedSeconds(
    outcome.poll_after_ms,
    deps.settings.FAREBOX_POLL_SECONDS,
    retryMaxSeconds,
  );
  return { id, attempt, to: 'accepted', started_in: attempt, handle: outcome.handle, wake_seconds };
}

/**
 * The upstream certainly did not accept the start: its next key is tried, then the model's next
 * upstream, and after a pause all of them again.
 */
async function elsewhere(
  row: ClaimedRequest,
  refused: NotAccepted,
  chosen: StartCall,
  deps: StepDeps,
): Promise<Transition> {
  const { model, route, key } = chosen;
  const pause = boundedSeconds(refused.retry_after_ms, 0, retryMaxSeconds);
  await noteFailure(row, refused, chosen, deps);
  // Spread over time, so that the retries do not all come at once.
  const laterSeconds = pauseSeconds(row.starts + 1) * (0.5 + Math.random());
  // The repeated start may have made the job; another key or upstream would make a second one.
  if (isRepeat(row))
    return triedTransition(row, { ...refused, outcome: 'unknown' }, Math.max(pause, laterSeconds));
  if (key !== null && isOfKey(refused)) {
    const other = await deps.circuit.keyFor(route, [...(row.refused_keys ?? []), key]);
    if (other !== null) return triedTransition(row, refused, 0);
  }
  const pauseOf = await routePauses(model, deps);
  const at = model.upstreams.indexOf(route);
  const isOpen = (each: ModelUpstream) => pauseOf(each) === 0 && !isLeft(row, each);
  const next = refused.waited ? null : routeAfter(model.upstreams, at, isOpen);
  // While every route is paused, the next try waits until this route's pause ends.
  const seconds =
    next === null
      ? Math.max(pause, laterSeconds, Math.min(pauseOf(route), routePauseMaxSeconds))
      : next.again
        ? laterSeconds
        : 0;
  const { upstream, model: name } = next?.route ?? route;
  // A request that waits for long gives its slot to others.
  const frees_slot = upstream !== row.upstream || seconds > slotKeptSeconds;
  return { ...triedTransition(row, refused, seconds), next: { upstream, model: name }, frees_slot };
}

/** The pause before the next try, which grows with each start. */
function pauseSeconds(starts: number): number {
  const doublings = Math.min(Math.max(starts - 1, 0), 10);
  return Math.min(retrySeconds * 2 ** doublings, retryPauseMaxSeconds);
}

async function noteFailure(
  row: ClaimedRequest,
  failed: Extract<StartOutcome, { outcome: 'not_accepted' | 'unknown' }>,
  { route: { upstream, model }, key }: StartCall,
  { log, circuit }: StepDeps,
): Promise<void> {
  const cause = redactInput(failed.message, row.input);
  const { id: request_id, account_id, model_id } = row;
  const { outcome } = failed;
  const why = outcome === 'unknown' ? undefined : failed.why;
  const facts = { request_id, model_id, upstream, model, ...(key !== null && { key }) };
  log.debug({ ...facts, outcome, why, cause }, 'start failed');
  if (outcome === 'not_accepted' && failed.unasked) return;
  await circuit.noteFailure({ upstream, model, key }, { ...failed, account_id, model_id, cause });
}
