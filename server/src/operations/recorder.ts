import type { EndTransition, MoveTransition } from '../core/request/request.ts';
import type { PauseRecord } from '../db/upstreams/pauses.ts';
import { timeOfId } from '../lib/id.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { UpstreamCall, UpstreamFailure } from './upstreams/circuit.ts';
import type { UpstreamRefusal } from '../core/catalog/upstream-key.ts';
import type { ReportEvent } from './operator-events.ts';

/** Records how requests and calls of upstreams went: in the log, metrics and operator's events. */
export type Recorder = ReturnType<typeof createRecorder>;

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Failures that only the operator can fix. */
const operatorFaults: Partial<Record<UpstreamRefusal, string>> = {
  account: 'your account at the upstream is out of credit',
  credential: 'the upstream rejects your key',
  model: 'the upstream does not have a model that the catalog names',
};

const errorMax = 300;
/** Starts that fail within this time of each other may each find the upstream not yet paused. */
const sameMomentMs = 5_000;
/** Shorter pauses come from rate limits and need no operator. */
const longPauseSeconds = 20;

/**
 * `known`: the upstreams that get a metrics label of their own; all others are counted as `other`.
 */
export function createRecorder(
  metrics: Metrics,
  log: Log,
  known: ReadonlyMap<string, unknown>,
  report: ReportEvent,
) {
  const label = (name = '') => (known.has(name) ? name : 'other');
  const operatorFault = logFaults(log, report);
  const pauses = logPauses(log);
  const throttle = new LogThrottle();
  const loss = logLosses(metrics, log);
  return {
    noteEnd(ending: EndTransition): void {
      const { id: request_id, to: status, model_id, upstream } = ending;
      const code = ending.to === 'FAILED' ? ending.code : '';
      metrics.requestsEnded.inc({ status, code, upstream: label(upstream) });
      count(metrics, ending, label(upstream));
      if (ending.to === 'COMPLETED') loss(ending, label(upstream));
      if (ending.to !== 'FAILED') return;
      log.info({ request_id, model_id, upstream, code, cause: ending.cause }, 'request failed');
    },

    noteWebhook({ id: request_id, ...sent }: Extract<MoveTransition, { to: 'notified' }>): void {
      const { delivered, status, error, duration_ms, url } = sent;
      metrics.webhooks.inc({ result: delivered ? 'delivered' : 'failed' });
      if (delivered) return;
      // The path or query of a receiver's address may hold a password, so only the host is logged.
      const { host } = new URL(url);
      const facts = { request_id, host, status, duration_ms, cause: error?.slice(0, errorMax) };
      log.info(facts, 'webhook failed');
    },

    startFailed(failure: UpstreamFailure, record: PauseRecord): void {
      const { upstream, why, key } = failure;
      const { model, failures, paused_seconds } = record;
      metrics.upstreamFailures.inc({ upstream: label(upstream), why });
      const seconds = Math.ceil(paused_seconds);
      const begins = seconds > 0 && pauses.begins(failure, record);
      const isLogged = operatorFault(failure, { call: 'start', ...(seconds > 0 && { seconds }) });
      if (begins && why !== 'account' && why !== 'credential') reportPause(failure, record, report);
      if (!begins || isLogged) return;
      const message = key === undefined ? pausedMessage(model) : 'upstream key paused';
      log.warn({ ...failure, failures, seconds }, message);
    },

    keysPaused(failure: UpstreamFailure, record: PauseRecord): void {
      if (!pauses.begins(failure, record)) return;
      const seconds = Math.ceil(record.paused_seconds);
      log.warn({ ...failure, seconds, keys: 'all paused' }, pausedMessage(record.model));
      reportPause(failure, record, report);
    },

    /** Reports that a failure could not be written to the upstream's row. */
    failureNotRecorded(upstream: string, err: unknown): void {
      const failed = throttle.due(upstream);
      if (failed !== null)
        log.warn({ upstream, failed, err }, 'a failed start of a job could not be recorded');
    },

    pollRefused(failure: UpstreamFailure): void {
      const { upstream, why } = failure;
      metrics.pollsRefused.inc({ upstream: label(upstream), why });
      operatorFault(failure, { call: 'poll' });
    },

    streamBegan(upstream: string, request_id: string): void {
      metrics.firstTokenSeconds.observe({ upstream: label(upstream) }, secondsSince(request_id));
    },
    streamBroke(upstream: string): void {
      metrics.upstreamFailures.inc({ upstream: label(upstream), why: 'broke_off' });
    },

    startSucceeded: pauses.startSucceeded,
  };
}

/** Counts the money and the time of an ended request. */
function count(metrics: Metrics, ending: EndTransition, upstream: string): void {
  const { charge, cost_usd_micro: cost } = billOf(ending);
  metrics.charges.inc({ upstream }, Number(charge) / 1e6);
  if (cost !== null) metrics.costs.inc({ upstream }, Number(cost) / 1e6);
  if (ending.to !== 'COMPLETED') return;
  const kind = ending.opens_job ? 'job' : 'chat';
  metrics.requestSeconds.observe({ kind, upstream }, secondsSince(ending.id));
  const { input_tokens = 0, output_tokens = 0 } = ending.tokens ?? {};
  metrics.tokens.inc({ upstream, direction: 'input' }, input_tokens);
  metrics.tokens.inc({ upstream, direction: 'output' }, output_tokens);
}

/** `id`: of a request. Its process and this one may have different clocks. */
function secondsSince(id: string): number {
  return Math.max(0, Date.now() - timeOfId(id)) / 1000;
}

/** The charge of an ended request, and its cost if it is known, both in micro-USD. */
function billOf(ending: EndTransition): { charge: bigint; cost_usd_micro: bigint | null } {
  if (ending.to === 'COMPLETED') return ending;
  if (ending.to === 'FAILED') return { charge: 0n, cost_usd_micro: ending.cost_usd_micro };
  return ending.stopped ?? { charge: 0n, cost_usd_micro: null };
}

/**
 * Logs a failure that only the operator can fix, even if nothing is paused yet. Returns true if the
 * failure was logged now, false if it is of another kind or was logged within the last minute.
 */
function logFaults(log: Log, report: ReportEvent) {
  const throttle = new LogThrottle();
  return (whole: UpstreamFailure, more: object): boolean => {
    const { why, ...failure } = whole;
    const sentence = operatorFaults[why];
    // Key and credit belong to the whole upstream, so the model is ignored for them.
    const { upstream, key = '', model } = failure;
    const subject = JSON.stringify([upstream, key, why, why === 'model' ? model : '']);
    if (sentence === undefined || throttle.due(subject) === null) return false;
    log.error({ ...failure, ...more }, sentence);
    if (why !== 'model') reportFault(whole, report);
    return true;
  };
}

function pausedMessage(model: string): string {
  return model === '' ? 'upstream paused' : 'model paused';
}

function reportPause(
  { upstream, key: named, why, cause }: UpstreamFailure,
  record: PauseRecord,
  report: ReportEvent,
): void {
  const key = named ?? null;
  const seconds = Math.ceil(record.paused_seconds);
  if (seconds < longPauseSeconds) return;
  const model = record.model === '' ? null : record.model.slice(0, errorMax);
  const data = { upstream, model, key, why, cause: cause.slice(0, errorMax), seconds };
  report({ type: 'upstream.paused', account_id: null, data }, subjectOf(upstream, key, model));
}

/** Names no model: a refused key or missing credit concerns all models of the upstream. */
function reportFault(
  { upstream, key: named, why, cause }: UpstreamFailure,
  report: ReportEvent,
): void {
  const key = named ?? null;
  const data = { upstream, model: null, key, why, cause: cause.slice(0, errorMax) };
  report({ type: 'upstream.credential', account_id: null, data }, subjectOf(upstream, key, why));
}

function subjectOf(...of: (string | null)[]): string {
  return JSON.stringify(of).slice(0, 500);
}

/** Recognises the beginning of a pause, and logs its end. */
function logPauses(log: Log) {
  /** When the beginning or continuation of each pause was last seen. */
  const seen = new Map<string, number>();
  const nameOf = ({ upstream, key, model }: UpstreamCall) =>
    JSON.stringify([upstream, key ?? '', model]);
  /**
   * Whether this failure begins a pause. Starts that fail at the same moment do not see each
   * other's records, so only the first of them counts.
   */
  const begins = (
    { upstream, key }: UpstreamFailure,
    { model, was_paused }: PauseRecord,
  ): boolean => {
    const name = nameOf({ upstream, key, model });
    const now = performance.now();
    const isNew = !was_paused && now - (seen.get(name) ?? -Infinity) > sameMomentMs;
    seen.set(name, now);
    return isNew;
  };
  return {
    begins,

    startSucceeded({ upstream, model, key }: UpstreamCall, resumed: readonly string[]): void {
      // The pause has ended, even if another process has logged that.
      for (const name of ['', model]) seen.delete(nameOf({ upstream, key, model: name }));
      for (const name of resumed) {
        const facts = name === '' ? { upstream } : { upstream, model: name };
        const message = name === '' ? 'upstream works again' : 'model works again';
        if (typeof key === 'string') log.info({ ...facts, key }, 'upstream key works again');
        else log.info(facts, message);
      }
    },
  };
}

/**
 * Adds up losses, but logs only the first one of a model in a minute, because every request of such
 * a model loses money.
 */
function logLosses({ losses }: Metrics, log: Log) {
  const throttle = new LogThrottle();
  return (ending: Extract<EndTransition, { to: 'COMPLETED' }>, label: string): void => {
    const { id: request_id, model_id = '', upstream, charge, cost_usd_micro: cost } = ending;
    if (cost === null || cost <= charge) return;
    losses.inc({ upstream: label }, Number(cost - charge) / 1e6);
    if (throttle.due(model_id) === null) return;
    const amounts = { charged_usd_micro: String(charge), cost_usd_micro: String(cost) };
    log.warn({ request_id, model_id, upstream, ...amounts }, 'a request cost more than its charge');
  };
}
