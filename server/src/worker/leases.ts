import type { Claim } from '../db/requests/queue.ts';
import { countdown, type Countdown } from '../lib/bounded.ts';

/**
 * The claims that a worker is handling. Each is renewed until its step has ended or was aborted.
 */
export class Leases {
  readonly #held = new Set<HeldLease>();
  readonly #renew: (claims: Claim[]) => Promise<{ id: string }[]>;
  readonly #leaseMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #onError: (error: unknown) => void;
  #renewing = false;
  #stopped: unknown;

  /** `renew` returns the claims that this worker still holds. */
  constructor(
    leaseSeconds: number,
    renew: (claims: Claim[]) => Promise<{ id: string }[]>,
    onError: (error: unknown) => void,
  ) {
    this.#leaseMs = leaseSeconds * 1000;
    this.#renew = renew;
    this.#onError = onError;
    this.#timer = setInterval(() => void this.#renewAll(), this.#leaseMs / 3);
    this.#timer.unref();
  }

  /**
   * The signal fires after `limitMs`, not counting what is done `aside`, when the lease is lost or
   * could not be renewed in time, and when the worker stops.
   */
  hold(
    { id, attempt }: Claim,
    limitMs: number,
  ): { signal: AbortSignal; aside: Countdown['aside']; release(): void } {
    const held = new HeldLease({ id, attempt }, limitMs, this.#safeMs());
    if (this.#stopped !== undefined) held.end(this.#stopped);
    this.#held.add(held);
    const release = () => {
      held.letGo();
      this.#held.delete(held);
    };
    return { signal: held.signal, aside: held.limit.aside, release };
  }

  /** Aborts every step, also steps that begin later. */
  stopAll(): void {
    this.#stopped = new DOMException('The worker is stopping.', 'AbortError');
    for (const held of this.#held) held.end(this.#stopped);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A step must end before its lease does, because another worker may begin after that. */
  #safeMs(): number {
    return this.#leaseMs * 0.9;
  }

  async #renewAll(): Promise<void> {
    // Renew only leases older than a quarter of their term: most steps finish earlier. Aborted
    // steps are not renewed.
    const due = [...this.#held].filter(
      (held) => !held.signal.aborted && held.ageMs() >= this.#leaseMs / 4,
    );
    if (this.#renewing || due.length === 0) return;
    this.#renewing = true;
    const asked = performance.now();
    try {
      const kept = new Set((await this.#renew(due.map(({ claim }) => claim))).map(({ id }) => id));
      for (const held of due) {
        // guard: lease-renewed
        if (kept.has(held.claim.id)) held.extend(asked + this.#safeMs());
        else held.end(new DOMException('The lease was lost.', 'AbortError'));
      }
    } catch (error) {
      // If a lease expires meanwhile, its own timer aborts the step.
      this.#onError(error);
    } finally {
      this.#renewing = false;
    }
  }
}

class HeldLease {
  readonly claim: Claim;
  readonly #own = new AbortController();
  readonly limit: Countdown;
  #lease: NodeJS.Timeout;
  #since = performance.now();

  constructor(claim: Claim, limitMs: number, leaseMs: number) {
    this.claim = claim;
    const late = () => this.end(new DOMException('The step took too long.', 'TimeoutError'));
    this.limit = countdown(limitMs, late);
    this.#lease = this.#until(leaseMs);
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  /** Time since the lease was last confirmed. */
  ageMs(): number {
    return performance.now() - this.#since;
  }

  extend(until: number): void {
    clearTimeout(this.#lease);
    this.#since = performance.now();
    this.#lease = this.#until(until - this.#since);
  }

  end(reason: unknown): void {
    this.#own.abort(reason);
  }

  letGo(): void {
    this.limit.stop();
    clearTimeout(this.#lease);
  }

  #until(ms: number): NodeJS.Timeout {
    const lost = () => this.end(new DOMException('The lease could not be renewed.', 'AbortError'));
    return setTimeout(lost, Math.max(ms, 0));
  }
}
