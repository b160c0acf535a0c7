import { FareboxError } from './error.ts';
import { fieldOf } from './unknown.ts';

/**
 * A signal that fires when the caller's does or when a time limit ends. `end` releases the timer
 * and the listener.
 */
export interface Scope {
  signal: AbortSignal;
  /** Restarts the time limit at `nextMs`, because something was received. */
  alive(nextMs: number): void;
  /** Aborts everything that was given `signal`. */
  abort(): void;
  end(): void;
}

export function openScope(outer: AbortSignal | undefined, limitMs: number, late: string): Scope {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const follow = () => controller.abort(reasonOf(outer!));
  const alive = (nextMs: number) => {
    clearTimeout(timer);
    if (nextMs === Infinity || controller.signal.aborted) return;
    // Timers beyond this would fire at once.
    const ms = Math.min(nextMs, 2_147_483_647);
    timer = setTimeout(() => controller.abort(new FareboxError('timeout', late)), ms);
  };
  const end = () => {
    clearTimeout(timer);
    outer?.removeEventListener('abort', follow);
  };
  if (outer?.aborted) follow();
  else outer?.addEventListener('abort', follow, { once: true });
  alive(limitMs);
  return {
    signal: controller.signal,
    alive,
    abort: () => controller.abort(new FareboxError('aborted', 'The call was aborted.')),
    end,
  };
}

function reasonOf({ reason }: AbortSignal): FareboxError {
  if (reason instanceof FareboxError) return reason;
  return fieldOf(reason, 'name') === 'TimeoutError'
    ? new FareboxError('timeout', "The caller's signal timed out.", {
        cause: reason,
      })
    : new FareboxError('aborted', "The call was stopped by the caller's signal.", {
        cause: reason,
      });
}

/** Waits, or throws the signal's reason as soon as it fires. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(reasonOf(signal));
    const stop = () => {
      clearTimeout(timer);
      reject(reasonOf(signal!));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
