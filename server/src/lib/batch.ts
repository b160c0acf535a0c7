/**
 * Turns single calls into batches. There is no timer: a batch leaves as soon as the previous one
 * has returned, or at the end of this turn of the event loop if none is running. So an idle system
 * adds no delay, and a busy one pays one round trip for many calls.
 *
 * `many` answers in the order of its items, with a value or an `Error` for each; an error rejects
 * that call alone.
 */
export interface BatchOptions {
  /** Items of one batch at most. */
  max: number;
  /** Batches running at the same time. */
  concurrency?: number;
  /** Limit of waiting calls; further calls are refused with `BatchFull` to bound the memory. */
  waitingMax?: number;
  /** Whether one member caused the failure of the whole batch; then each is tried on its own. */
  split?: (error: unknown) => boolean;
}

export class BatchFull extends Error {
  constructor() {
    super('too many calls are waiting');
    this.name = 'BatchFull';
  }
}

interface Waiting<T, R> {
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
  let waiting: Waiting<T, R>[] = [];
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
    setImmediate(() => {
      scheduled = false;
      void flush();
    });
  }

  async function flush(): Promise<void> {
    const members = waiting.length <= max ? waiting : waiting.slice(0, max);
    waiting = waiting.length <= max ? [] : waiting.slice(max);
    if (members.length === 0) return;
    running++;
    schedule();
    await settle(members);
    running--;
    schedule();
  }

  async function settle(members: Waiting<T, R>[]): Promise<void> {
    try {
      const results = await many(members.map((member) => member.item));
      members.forEach((member, i) => answer(member, results[i]));
    } catch (error) {
      if (members.length > 1 && split(error)) {
        for (const member of members) await settle([member]);
      } else {
        for (const member of members) member.reject(error);
      }
    }
  }

  function answer(member: Waiting<T, R>, result: R | Error | undefined): void {
    if (result instanceof Error) member.reject(result);
    // `many` answers each item.
    else member.resolve(result as R);
  }

  return Object.assign(call, { depth: () => waiting.length });
}
