import { outsideSpans } from './trace.ts';
import { errorOf } from './unknown.ts';

/**
 * Gathers single calls into batches, without a timer. When a batch returns, the waiting calls leave
 * at once if they are at least half as many as the batch had. Otherwise a single call leaves at the
 * end of this turn of the event loop, and several calls wait some turns for more. So a single call
 * of an idle system is not delayed, and a busy system makes one round trip for many calls.
 *
 * `many` returns a value or an `Error` for each item, in their order; an error rejects only that
 * item's call.
 */
export interface BatchOptions {
  /** Maximum number of items in one batch. */
  max: number;
  /** Batches running at the same time. */
  concurrency?: number;
  /** Maximum number of waiting calls. Beyond it calls get `BatchFull`, to limit the memory. */
  waitingMax?: number;
  /** Whether one item made the whole batch fail; then each item is tried on its own. */
  split?: (error: unknown) => boolean;
}

/**
 * Number of turns of the event loop in which several calls wait for more calls. Callers who have
 * just got an answer need some turns to make their next call.
 */
const turnsMax = 8;
/** Calls are gathered no longer than this, because turns of a busy loop can be long. */
const gatherMaxMs = 5;

export class BatchFull extends Error {
  constructor() {
    super('too many calls are waiting');
    this.name = 'BatchFull';
  }
}

interface WaitingItem<T, R> {
  item: T;
  resolve: (value: R) => void;
  reject: (error: unknown) => void;
}

export interface Batch<T, R> {
  (item: T): Promise<R>;
  /** Calls waiting for their batch. */
  depth(): number;
}

export function batch<T, R>(
  many: (items: T[]) => Promise<(R | Error)[]>,
  options: BatchOptions,
): Batch<T, R> {
  const { max, concurrency = 1, waitingMax = 20_000, split = () => false } = options;
  let waiting: WaitingItem<T, R>[] = [];
  let running = 0;
  let scheduled = false;

  function call(item: T): Promise<R> {
    if (waiting.length >= waitingMax) return Promise.reject(new BatchFull());
    return new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
  }

  function schedule(): void {
    if (scheduled || running >= concurrency || waiting.length === 0) return;
    scheduled = true;
    outsideSpans(() => setImmediate(gather, 1, performance.now()));
  }

  function gather(turn: number, since: number): void {
    const mayWait = turn < turnsMax && performance.now() - since < gatherMaxMs;
    if (mayWait && waiting.length > 1 && waiting.length < max) {
      setImmediate(gather, turn + 1, since);
      return;
    }
    scheduled = false;
    void flush();
  }

  async function flush(): Promise<void> {
    const members = waiting.length <= max ? waiting : waiting.slice(0, max);
    waiting = waiting.length <= max ? [] : waiting.slice(max);
    if (members.length === 0) return;
    running++;
    schedule();
    const results = await run(members.map((member) => member.item));
    running--;
    // The next batch leaves first, so that the database works while the answers are used.
    if (!scheduled && waiting.length >= members.length / 2) void flush();
    members.forEach((member, i) => answer(member, results[i]));
    schedule();
  }

  /** A result for each item, in their order; if the batch fails, its error for each. */
  async function run(items: T[]): Promise<(R | Error)[]> {
    try {
      return await many(items);
    } catch (error) {
      if (items.length === 1 || !split(error)) return items.map(() => errorOf(error));
      const results: (R | Error)[] = [];
      for (const item of items) results.push(...(await run([item])));
      return results;
    }
  }

  function answer(member: WaitingItem<T, R>, result: R | Error | undefined): void {
    if (result instanceof Error) member.reject(result);
    // `many` returns one result for each item.
    else member.resolve(result as R);
  }

  return Object.assign(call, { depth: () => waiting.length });
}
