import * as queue from '../db/queue.ts';
import type { Database } from '../lib/sql.ts';
import type { Refusal } from '../upstreams/upstream.ts';

/** Failures in a row after which an upstream rests, and a model of it, and for how long. */
const limits = { threshold: 5, model_threshold: 3, rest_seconds: 30 };
/** Longest pause an upstream may ask for. */
const pauseMaxSeconds = 120;
/** How long an upstream is left alone that the operator has to see to. */
const alarmRestSeconds = 60;
/** How long one whose limit was met, where it does not tell when that is over. */
const limitedSeconds = 2;
/** How long a model that it does not have. */
const modelRestSeconds = 300;
/** How long an upstream is taken for well before a success looks at its row again. */
const wellMs = 1_000;
/** The newest refusal of a look is written down at most so often: each job's looks meet it. */
const lookNotedMs = 60_000;

/** An upstream, and its own name of a model. */
export interface Called {
  upstream: string;
  model: string;
}

/** A call that was not taken, or not answered. */
export interface FailedCall {
  outcome: 'not_accepted' | 'unknown';
  account_id: string;
  /** The catalog row that was asked for. */
  model_id: string;
  message: string;
  /** The message as far as it is fit for the log. */
  cause: string;
  why?: Refusal | undefined;
  /** How long the upstream asks to be left alone. */
  retry_after_ms?: number | undefined;
  /** A limit was met, and that is of our whole account there. */
  limited?: boolean | undefined;
  account_wide?: boolean | undefined;
}

/** A look at a running job that was refused. */
type RefusedLook = Pick<FailedCall, 'model_id' | 'message' | 'cause' | 'retry_after_ms'> & {
  why: Refusal;
};

/** How calls of upstreams went, for all processes: who fails too often is left alone a while. */
export interface Circuit {
  failed(route: Called, failed: FailedCall): Promise<void>;
  /** `began`: when the call was made, as `performance.now` tells. */
  succeeded(route: Called, began: number): Promise<void>;
  /**
   * Starts go on: they have limits of their own, and say themselves what is wrong. Looks of this
   * process wait as long as the upstream asks. Returns the seconds.
   */
  lookRefused(upstream: string, refused: RefusedLook): Promise<number>;
  /** For how many seconds still no look is to be had there; 0: now. */
  looksWaitSeconds(upstream: string): number;
}

/** What an operator is told of a call: whom it was for, and what came of it. */
export interface Told {
  upstream: string;
  /** The upstream's own name; a look names the row only. */
  model?: string;
  model_id: string;
  why: Refusal;
  cause: string;
}

interface Listener {
  startFailed(told: Told, noted: queue.Noted): void;
  /** `well`: what had rested, as models; an empty one is the upstream. */
  startSucceeded(route: Called, well: readonly string[]): void;
  lookRefused(told: Told): void;
}

export function openCircuit(db: Database, listener: Listener): Circuit {
  /** Until when each upstream is taken for well, by model. */
  const well = new Map<string, Map<string, number>>();
  return {
    async failed({ upstream, model }, failed) {
      const { account_id, model_id, message, cause, retry_after_ms } = failed;
      const why = failed.outcome === 'unknown' ? 'lost' : (failed.why ?? 'busy');
      const failure = { account_id, message, why, model, account_wide: failed.account_wide };
      const noted = await queue.noteFailure(db, upstream, {
        ...failure,
        pause_seconds: pauseSeconds(why, retry_after_ms) || (failed.limited ? limitedSeconds : 0),
        // Who it is not there for may have led it to say so, so two accounts have to hear it.
        pauses_at_once: why !== 'model',
        counts_alone: why === 'unreachable',
        ...limits,
      });
      well.delete(upstream);
      listener.startFailed({ upstream, model, model_id, why, cause }, noted);
    },
    async succeeded({ upstream, model }, began) {
      const now = performance.now();
      const known = well.get(upstream) ?? new Map<string, number>();
      if (now < (known.get(model) ?? 0)) return;
      // At once, so that of many that succeed together one looks.
      well.set(upstream, known.set(model, now + wellMs));
      const seconds = (now - began) / 1000;
      // A job was just made: that must go on, and the next success is noted as well.
      const rested = await queue.noteSuccess(db, upstream, model, seconds).catch(() => []);
      const names = rested.map((each) => each.model);
      listener.startSucceeded({ upstream, model }, names);
    },
    ...lookCircuit(db, listener),
  };
}

function lookCircuit(
  db: Database,
  listener: Listener,
): Pick<Circuit, 'lookRefused' | 'looksWaitSeconds'> {
  /** Until when no look is had, by upstream. */
  const waits = new Map<string, number>();
  /** Until when each kind of refusal is known, by upstream. */
  const noted = new Map<string, number>();
  return {
    async lookRefused(upstream, { model_id, why, message, cause, retry_after_ms }) {
      const now = performance.now();
      const seconds = wishSeconds(retry_after_ms);
      waits.set(upstream, Math.max(waits.get(upstream) ?? 0, now + seconds * 1000));
      listener.lookRefused({ upstream, model_id, why, cause });
      const key = `${upstream} ${why}`;
      if (now >= (noted.get(key) ?? 0)) {
        noted.set(key, now + lookNotedMs);
        await queue.noteRefusedLook(db, upstream, { message, why });
      }
      return seconds;
    },
    looksWaitSeconds: (upstream) =>
      Math.max(0, ((waits.get(upstream) ?? 0) - performance.now()) / 1000),
  };
}

/**
 * The operator knows better: it is called again at once, with all its models or with one of them.
 * True: it rested.
 */
export function endRest(db: Database, upstream: string, model: string | null): Promise<boolean> {
  return queue.endRest(db, upstream, model);
}

/** The upstream was asked, and takes our key. */
export function noteKeyTaken(db: Database, upstream: string): Promise<void> {
  return queue.noteKeyTaken(db, upstream);
}

/** How long it asks to be left alone, within reason. */
function wishSeconds(retryAfterMs = 0): number {
  const isWish = Number.isFinite(retryAfterMs) && retryAfterMs > 0;
  return isWish ? Math.min(retryAfterMs / 1000, pauseMaxSeconds) : 0;
}

function pauseSeconds(why: Refusal, retryAfterMs?: number): number {
  const wish = wishSeconds(retryAfterMs);
  if (why === 'model') return modelRestSeconds;
  return why === 'account' || why === 'credential' ? Math.max(wish, alarmRestSeconds) : wish;
}
