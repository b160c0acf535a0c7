import type { Ending, Moving } from '../core/request/request.ts';
import type { Noted } from '../db/queue.ts';
import type { Metrics } from '../lib/metrics.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import type { Called, Told } from './circuit.ts';

/** What happened, as an operator hears of it: lines in the log and figures. */
export type Happenings = ReturnType<typeof tellHappenings>;

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What only the operator can mend. */
const sentences: Readonly<Record<string, string>> = {
  account: 'your account at the upstream is out of credit',
  credential: 'the upstream does not take your key',
  model: 'the upstream does not have a model that the catalog names',
};

const errorMax = 300;
/** How long the same alarm of an upstream is not repeated. */
const alarmQuietMs = 60_000;
/** Failed starts that are noted within this time may not see each other in the row. */
const sameMomentMs = 5_000;

/** `known` bounds how many series the figures have, whatever stands in the rows. */
export function tellHappenings(metrics: Metrics, log: Log, known: ReadonlyMap<string, unknown>) {
  const label = (name = '') => (known.has(name) ? name : 'other');
  /** Until when each alarm is known. */
  const alarmed = new Map<string, number>();
  /** Told at the first one, also where nothing rests yet: it may be true. */
  const alarm = ({ why, ...told }: Told, facts: object): boolean => {
    const sentence = sentences[why];
    const now = performance.now();
    // Key and credit are the upstream's, whatever was asked for.
    const kind = `${told.upstream} ${told.key ?? ''} ${why} ${why === 'model' ? told.model : ''}`;
    if (!sentence || now < (alarmed.get(kind) ?? 0)) return false;
    alarmed.set(kind, now + alarmQuietMs);
    log.error({ ...told, ...facts }, sentence);
    return true;
  };
  const pauses = tellPauses(log);
  const throttle = new LogThrottle();
  const loss = tellLosses(metrics, log);
  return {
    ended(ending: Ending): void {
      const { id: request_id, to: status, model_id, upstream } = ending;
      const code = ending.to === 'FAILED' ? ending.code : '';
      metrics.requestsEnded.inc({ status, code, upstream: label(upstream) });
      if (ending.to === 'COMPLETED') loss(ending, label(upstream));
      if (ending.to !== 'FAILED') return;
      log.info({ request_id, model_id, upstream, code, cause: ending.cause }, 'request failed');
    },

    notified({ id: request_id, ...sent }: Extract<Moving, { to: 'notified' }>): void {
      const { delivered, status, error, duration_ms, url } = sent;
      metrics.webhooks.inc({ result: delivered ? 'delivered' : 'failed' });
      if (delivered) return;
      // The path or query of a receiver may be its password.
      const { host } = new URL(url);
      const facts = { request_id, host, status, duration_ms, cause: error?.slice(0, errorMax) };
      log.info(facts, 'webhook failed');
    },

    startFailed(told: Told, noted: Noted): void {
      const { upstream, why, key } = told;
      const { model, failures, resting_seconds } = noted;
      metrics.upstreamFailures.inc({ upstream: label(upstream), why });
      const seconds = Math.ceil(resting_seconds);
      const begins = seconds > 0 && pauses.begins(told, noted);
      const isTold = alarm(told, { call: 'start', ...(seconds > 0 && { seconds }) });
      if (!begins || isTold) return;
      const what = model === '' ? 'upstream rests' : 'model rests';
      log.warn({ ...told, failures, seconds }, key === undefined ? what : 'upstream key paused');
    },

    keysPaused: pauses.keysPaused,

    notNoted(upstream: string, err: unknown): void {
      const failed = throttle.due(upstream);
      if (failed !== null) log.warn({ upstream, failed, err }, 'a failed start could not be noted');
    },

    lookRefused(told: Told): void {
      const { upstream, why } = told;
      metrics.looksRefused.inc({ upstream: label(upstream), why });
      alarm(told, { call: 'look' });
    },

    startSucceeded: pauses.startSucceeded,
  };
}

/** Lines for pauses that begin and end, each once. */
function tellPauses(log: Log) {
  /** When each pause was last seen to begin or go on. */
  const seen = new Map<string, number>();
  const place = ({ upstream, key, model }: Called) => `${upstream} ${key ?? ''} ${model}`;
  /** Of starts that fail at the same moment none sees in the row what the others have noted. */
  const begins = ({ upstream, key }: Told, { model, rested }: Noted): boolean => {
    const where = place({ upstream, key, model });
    const now = performance.now();
    const isNew = !rested && now - (seen.get(where) ?? -Infinity) > sameMomentMs;
    seen.set(where, now);
    return isNew;
  };
  return {
    begins,

    keysPaused(told: Told, noted: Noted): void {
      if (!begins(told, noted)) return;
      const seconds = Math.ceil(noted.resting_seconds);
      const what = noted.model === '' ? 'upstream rests' : 'model rests';
      log.warn({ ...told, seconds, keys: 'all paused' }, what);
    },

    startSucceeded({ upstream, model, key }: Called, well: readonly string[]): void {
      // Also where another process has told it.
      for (const name of ['', model]) seen.delete(place({ upstream, key, model: name }));
      for (const name of well) {
        const facts = name === '' ? { upstream } : { upstream, model: name };
        const what = name === '' ? 'upstream works again' : 'model works again';
        if (typeof key === 'string') log.info({ ...facts, key }, 'upstream key works again');
        else log.info(facts, what);
      }
    },
  };
}

/** A line for the first loss of a model in a minute: it loses money with every request. */
function tellLosses({ losses }: Metrics, log: Log) {
  const told = new Map<string, number>();
  return (ending: Extract<Ending, { to: 'COMPLETED' }>, label: string): void => {
    const { id: request_id, model_id = '', upstream, charge, cost_usd_micro: cost } = ending;
    if (cost === null || cost <= charge) return;
    losses.inc({ upstream: label }, Number(cost - charge) / 1e6);
    const now = performance.now();
    if (now < (told.get(model_id) ?? 0)) return;
    told.set(model_id, now + alarmQuietMs);
    const amounts = { charged_usd_micro: String(charge), cost_usd_micro: String(cost) };
    log.warn({ request_id, model_id, upstream, ...amounts }, 'a request cost more than its charge');
  };
}
