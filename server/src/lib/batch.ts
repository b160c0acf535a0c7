/**
 * Gathers single calls into batches, without a timer. Once the previous batch has returned, the
 * next is run at once if it has at least half as many calls. Otherwise a single call is run at the
 * end of this turn of the event loop; several calls wait some turns longer for more. So an idle
 * system has no delay, and a busy one makes one round trip for many calls.
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
 * Turns of the event loop that several calls wait for more: in the first turn after an answer, most
 * of the calls that it brings are still on their way.
 */
const turnsMax = 8;

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
    setImmediate(gather, 1);
  }

  function gather(turn: number): void {
    if (turn < turnsMax && waiting.length > 1 && waiting.length < max) {
      setImmediate(gather, turn + 1);
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
    const giveAnswers = await run(members);
    running--;
    // First the next batch: otherwise the database waits for all that the answers set going.
    if (!scheduled && waiting.length >= members.length / 2) void flush();
    giveAnswers();
    schedule();
  }

  async function run(members: Waiting<T, R>[]): Promise<() => void> {
    try {
      const results = await many(members.map((member) => member.item));
      return () => members.forEach((member, i) => answer(member, results[i]));
    } catch (error) {
      if (members.length === 1 || !split(error))
        return () => members.forEach((member) => member.reject(error));
      for (const member of members) (await run([member]))();
      return () => {};
    }
  }

  function answer(member: Waiting<T, R>, result: R | Error | undefined): void {
    if (result instanceof Error) member.reject(result);
    // `many` returns one result for each item.
    else member.resolve(result as R);
  }

  return Object.assign(call, { depth: () => waiting.length });
}
