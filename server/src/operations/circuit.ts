import * as queue from '../db/queue.ts';
import type { Database } from '../lib/sql.ts';
import type { Refusal } from '../upstreams/upstream.ts';

/** Failures in a row after which an upstream rests, and a model of it, and for how long. */
const limits = { threshold: 5, model_threshold: 3, rest_seconds: 30 };
/** Longest pause an upstream may ask for. */
const pauseMaxSeconds = 120;
/** How long an upstream is left alone that the operator has to see to. */
const alarmRestSeconds = 60;
/** How long a model that it does not have. */
const modelRestSeconds = 300;

/** An upstream, and its own name of a model. */
export interface Called {
  upstream: string;
  model: string;
}

/** A call that was not taken, or not answered. */
export interface FailedCall {
  account_id: string;
  message: string;
  /** The message as far as it is fit for the log. */
  cause: string;
  why?: Refusal | undefined;
  /** How long the upstream asks to be left alone. */
  retry_after_ms?: number | undefined;
}

/** How calls of upstreams went, for all processes: who fails too often is left alone a while. */
export interface Circuit {
  failed(route: Called, failed: FailedCall): Promise<void>;
  succeeded(route: Called): Promise<void>;
}

interface Listener {
  startFailed(upstream: string, failed: { why: Refusal; cause: string }, noted: queue.Noted): void;
  startSucceeded(upstream: string): void;
}

export function openCircuit(db: Database, listener: Listener): Circuit {
  const failing = new Set<string>();
  return {
    async failed(
      { upstream, model },
      { account_id, message, cause, why = 'busy', retry_after_ms },
    ) {
      failing.add(`${upstream} ${model}`);
      const noted = await queue.noteFailure(db, upstream, {
        account_id,
        message,
        why,
        model,
        pause_seconds: pauseSeconds(why, retry_after_ms),
        model_pause_seconds: why === 'model' ? modelRestSeconds : 0,
        pauses_at_once: !isAlarm(why),
        ...limits,
      });
      listener.startFailed(upstream, { why, cause }, noted);
    },
    async succeeded({ upstream, model }) {
      // Only after a failure is there anything to write.
      if (!failing.delete(`${upstream} ${model}`)) return;
      await queue.noteSuccess(db, upstream, model);
      listener.startSucceeded(upstream);
    },
  };
}

/** What an upstream says of itself in its answer to one caller, who may have led it to say so. */
function isAlarm(why: Refusal): boolean {
  return why === 'model' || why === 'account' || why === 'credential';
}

function pauseSeconds(why: Refusal, retryAfterMs = 0): number {
  const isWish = Number.isFinite(retryAfterMs) && retryAfterMs > 0;
  const wish = isWish ? Math.min(retryAfterMs / 1000, pauseMaxSeconds) : 0;
  return why === 'account' || why === 'credential' ? Math.max(wish, alarmRestSeconds) : wish;
}
