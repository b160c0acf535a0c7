import { randomUUID } from 'node:crypto';
import { idleTimeout, type Bytes } from '../lib/streams.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import type { PutOptions } from './intake.ts';
import {
  StorageAway,
  StorageFull,
  TooLarge,
  type ListedObject,
  type Storage,
  type StoredObject,
  type StoreLink,
} from './storage.ts';

/** A storage that is probed regularly, so that callers know whether it can be used. */
export interface WatchedStorage extends Storage {
  isAway(): boolean;
  /** Ends the probes. */
  stop(): void;
}

interface Watch {
  /** Time between two probes while the storage works. */
  everyMs: number;
  /** How long a single read may take. */
  readMs?: number;
  /**
   * `onAway` is called with the probe's error when the storage becomes unavailable, `onBack` when
   * it is back.
   */
  onAway: (err: unknown) => void;
  onBack: (seconds: number) => void;
}

/** While something is wrong, the storage is probed this many times as often. */
const hurry = 5;
/** How many probes in a row change the state; a single one may have met a temporary fault. */
const inARow = 2;
const probeMs = 5_000;
/** As long as a call of an S3 service may take. */
const readMs = 120_000;

/**
 * Probes a working storage with a cheap read. After a failed probe or call, probes also write and
 * remove a small object, because a storage that cannot be written to counts as unavailable too.
 * While it is unavailable, calls fail at once with `StorageAway`, but reads go on as long as the
 * storage answers them.
 */
export function watchStorage(storage: Storage, watch: Watch): WatchedStorage {
  return new ProbedStorage(storage, watch);
}

class ProbedStorage implements WatchedStorage {
  readonly #inner: Storage;
  readonly #watch: Watch;
  #awaySince: number | null = null;
  /** Whether the storage answered the newest probe, even if only its read. */
  #isReadable = true;
  /** Consecutive probes that contradict the present state. */
  #against = 0;
  /** Whether a call has failed since the newest probe. */
  #isSuspect = false;
  #probing = false;
  /** Whether an aborted probe has not returned yet. */
  #hangs = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  /** Aborts running puts when the storage becomes unavailable. */
  readonly #puts = new Set<AbortController>();

  constructor(inner: Storage, watch: Watch) {
    this.#inner = inner;
    this.#watch = watch;
    void this.#probe();
  }

  isAway(): boolean {
    return this.#awaySince !== null;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async put(key: string, body: Bytes, options: PutOptions = {}): Promise<StoredObject> {
    const source = observe(body);
    if (this.isAway()) {
      source.release();
      throw new StorageAway();
    }
    const own = new AbortController();
    const { signal } = options;
    const stop = () => own.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    this.#puts.add(own);
    try {
      return await this.#inner.put(key, source.body, { ...options, signal: own.signal });
    } catch (error) {
      source.release();
      if (signal?.aborted || source.failed() || error instanceof TooLarge) throw error;
      throw this.#fault(error);
    } finally {
      this.#puts.delete(own);
      signal?.removeEventListener('abort', stop);
    }
  }

  async open(key: string, range?: { start: number; end: number }): Promise<Bytes | null> {
    const ms = this.#watch.readMs ?? readMs;
    const open = () => withTimeout(this.#inner.open(key, range), ms);
    const bytes = await this.#tryInner(open);
    // A disk that hangs lets a read wait for ever; its caller's work would never end.
    return bytes && idleTimeout(bytes, ms, (stall) => this.#fault(stall));
  }

  openAsPath(key: string): Promise<{ path: string; done(): Promise<void> } | null> {
    return this.#tryInner(() => this.#inner.openAsPath(key));
  }

  remove(key: string): Promise<void> {
    return this.#tryInner(() => this.#inner.remove(key));
  }

  removeAll(prefix: string): Promise<void> {
    return this.#tryInner(() => this.#inner.removeAll(prefix));
  }

  list(prefix: string): AsyncIterable<ListedObject[]> {
    return this.#inner.list(prefix);
  }

  linkTo(key: string, link: StoreLink): Promise<string | null> {
    return this.#inner.linkTo(key, link);
  }

  checkReachable(signal?: AbortSignal): Promise<void> {
    return this.#inner.checkReachable(signal);
  }

  freeBytes(): Promise<number | null> {
    return this.#inner.freeBytes();
  }

  async #tryInner<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#isReadable && this.isAway()) throw new StorageAway();
    try {
      return await work();
    } catch (error) {
      throw this.#fault(error);
    }
  }

  /**
   * The error for a failed call. Also starts a probe at once, to decide whether the storage is
   * unavailable.
   */
  #fault(error: unknown): Error {
    this.#isSuspect = true;
    this.#probeIn(0);
    return error instanceof StorageFull ? error : new StorageAway({ cause: error });
  }

  #probeIn(ms: number): void {
    if (this.#stopped || this.#probing) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#probe(), ms);
    this.#timer.unref();
  }

  async #probe(): Promise<void> {
    this.#probing = true;
    try {
      await this.#look();
      this.#noteProbe(null);
    } catch (error) {
      this.#noteProbe({ error });
    } finally {
      this.#probing = false;
      const isHealthy = !this.#isSuspect && this.#against === 0 && !this.isAway();
      this.#probeIn(isHealthy ? this.#watch.everyMs : this.#watch.everyMs / hurry);
    }
  }

  async #look(): Promise<void> {
    // No further probe: each call to a file system that hangs occupies one of the few threads.
    if (this.#hangs) throw new Error('the storage has not yet answered the last probe');
    const isThorough = this.#isSuspect || this.#against > 0 || this.isAway();
    this.#isSuspect = false;
    this.#isReadable = false;
    await this.#runProbe((signal) => this.#inner.checkReachable(signal));
    this.#isReadable = true;
    if (!isThorough) return;
    await this.#runProbe((signal) => checkWritable(this.#inner, signal));
  }

  /** Runs work with a time limit, and stops waiting even for work that ignores its signal. */
  async #runProbe(work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const limit = new AbortController();
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const error = new Error(`the storage did not answer within ${probeMs} ms`);
      limit.abort(error);
      late.reject(error);
    }, probeMs);
    this.#hangs = true;
    const probe = work(limit.signal).finally(() => (this.#hangs = false));
    try {
      await Promise.race([probe, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #noteProbe(failed: { error: unknown } | null): void {
    if ((failed !== null) === this.isAway()) {
      this.#against = 0;
      return;
    }
    this.#against += 1;
    if (this.#against < inARow || this.#stopped) return;
    this.#against = 0;
    if (failed) {
      this.#awaySince = performance.now();
      for (const put of this.#puts) put.abort(new StorageAway());
      this.#watch.onAway(failed.error);
    } else {
      const seconds = (performance.now() - this.#awaySince!) / 1000;
      this.#awaySince = null;
      this.#watch.onBack(seconds);
    }
  }
}

/** Writes a small object and removes it. Rejects with the reason if the store takes none. */
export async function checkWritable(storage: Storage, signal?: AbortSignal): Promise<void> {
  const key = `probe/${randomUUID()}`;
  await storage.put(key, probeBody(), signal ? { signal } : {});
  await storage.remove(key);
}

async function* probeBody(): Bytes {
  yield Buffer.from('probe');
}

/** Wraps a source, so that its errors can be distinguished from the storage's. */
function observe(source: Bytes): { body: Bytes; failed: () => boolean; release: () => void } {
  const inner = source[Symbol.asyncIterator]();
  let failed = false;
  const body: AsyncIterableIterator<Uint8Array> = {
    next: () =>
      inner.next().catch((error: unknown) => {
        failed = true;
        throw error;
      }),
    return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
    [Symbol.asyncIterator]: () => body,
  };
  // Not awaited, because many sources return only once a pending read has ended.
  const release = () => void inner.return?.().catch(() => {});
  return { body, failed: () => failed, release };
}
