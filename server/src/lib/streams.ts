/**
 * Tools for streams of bytes. Their results can be read once, from front to back. Stopping early
 * releases the source even before the first read; an async generator would not do that.
 */

export type Bytes = AsyncIterable<Uint8Array>;

type ReadResult = IteratorResult<Uint8Array, undefined>;
type Source = AsyncIterator<Uint8Array>;

/** The source gave no bytes for too long. */
export class StreamStalled extends Error {
  readonly idleMs: number;
  constructor(idleMs: number) {
    super(`no bytes for ${idleMs} ms`);
    this.name = 'StreamStalled';
    this.idleMs = idleMs;
  }
}

/** All bytes in one piece. */
export function once(bytes: Uint8Array): Bytes {
  return yieldEach([bytes]);
}

export async function* yieldEach(pieces: Iterable<Uint8Array>): Bytes {
  yield* pieces;
}

/**
 * Reads the first `byteCount` bytes in advance. `head` is shorter only if the whole stream is;
 * `stream` yields everything, including the head. Rejects with the source's error.
 */
export async function readHead(
  source: Bytes,
  byteCount: number,
): Promise<{ head: Uint8Array; stream: Bytes }> {
  const inner = source[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  while (heldBytes < byteCount) {
    const read = await inner.next();
    if (read.done) break;
    held.push(read.value);
    heldBytes += read.value.length;
  }
  const head = Buffer.concat(held, Math.min(heldBytes, byteCount));
  const stream = iterable(
    async () => {
      const chunk = held.shift();
      return chunk ? { done: false, value: chunk } : asRead(await inner.next());
    },
    () => {
      held.length = 0;
      return inner.return?.();
    },
  );
  return { head, stream };
}

/**
 * Throws `StreamStalled` when one read takes longer than `idleMs`. Time between reads does not
 * count. `cut` is called at a stall, to break what the source is waiting for. It may return another
 * error to throw.
 */
export function idleTimeout(
  source: Bytes,
  idleMs: number,
  cut: (stall: StreamStalled) => Error | void = () => {},
): Bytes {
  return interruptible(source, (fail) => {
    const timer = setTimeout(() => {
      const stall = new StreamStalled(idleMs);
      fail(cut(stall) ?? stall);
    }, idleMs);
    return () => clearTimeout(timer);
  });
}

/**
 * Throws `StreamStalled` when fewer than `leastBytes` came in a window of `windowMs`. Time between
 * reads does not count.
 */
export function leastRate(source: Bytes, leastBytes: number, windowMs: number): Bytes {
  let leftMs = windowMs;
  let bytes = 0;
  const timed = interruptible(source, (fail) => {
    const judge = (): void => {
      if (bytes < leastBytes) return fail(new StreamStalled(windowMs));
      bytes = 0;
      begun = performance.now();
      leftMs = windowMs;
      timer = setTimeout(judge, leftMs);
    };
    let begun = performance.now();
    let timer = setTimeout(judge, leftMs);
    return () => {
      clearTimeout(timer);
      leftMs = Math.max(leftMs - (performance.now() - begun), 0);
    };
  });
  const inner = timed[Symbol.asyncIterator]();
  return iterable(
    async () => {
      const read = await inner.next();
      if (!read.done) bytes += read.value.length;
      return asRead(read);
    },
    () => inner.return?.(),
  );
}

/** Throws the signal's reason as soon as it is aborted, even while the source is stuck. */
export function abortable(source: Bytes, signal: AbortSignal): Bytes {
  return interruptible(source, (fail) => {
    const onAbort = (): void => fail(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    return () => signal.removeEventListener('abort', onAbort);
  });
}

/**
 * The same bytes in pieces of exactly `size` bytes. Only the last piece may be shorter, and no
 * piece is empty.
 */
export function pieces(source: Bytes, size: number): Bytes {
  const inner = source[Symbol.asyncIterator]();
  let rest: Uint8Array = Buffer.alloc(0);
  // Starts small and doubles, so that a short stream does not use the memory of a whole piece.
  let startSize = Math.min(size, 64 * 1024);
  async function next(): Promise<ReadResult> {
    let piece: Buffer = Buffer.allocUnsafeSlow(startSize);
    let filled = 0;
    while (filled < size) {
      if (rest.length === 0) {
        const read = await inner.next();
        if (read.done) break;
        rest = read.value;
      }
      const taken = rest.subarray(0, size - filled);
      if (filled + taken.length > piece.length) piece = grown(piece, filled + taken.length, size);
      piece.set(taken, filled);
      filled += taken.length;
      rest = rest.subarray(taken.length);
    }
    if (filled === 0) return { done: true, value: undefined };
    startSize = piece.length;
    return { done: false, value: piece.subarray(0, filled) };
  }
  return iterable(next, () => inner.return?.());
}

function grown(piece: Buffer, needed: number, size: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.min(size, Math.max(needed, piece.length * 2)));
  piece.copy(larger);
  return larger;
}

/** Each read races against what `arm` sets up; `arm` returns a function that cancels it. */
function interruptible(source: Bytes, arm: (fail: (reason: unknown) => void) => () => void): Bytes {
  const inner = source[Symbol.asyncIterator]();
  const next = (): Promise<ReadResult> =>
    new Promise((resolve, reject) => {
      let failed = false;
      const disarm = arm((reason) => {
        failed = true;
        reject(reason);
        // Not awaited, because many sources return only after the pending read has ended.
        void letGo(inner);
      });
      if (failed) return disarm();
      inner.next().then(
        (read) => {
          disarm();
          resolve(asRead(read));
        },
        (error: unknown) => {
          disarm();
          reject(error);
        },
      );
    });
  return iterable(next, () => inner.return?.());
}

async function letGo(inner: Source): Promise<void> {
  try {
    await inner.return?.();
  } catch {
    // The reader already has the error that matters.
  }
}

function iterable(
  next: () => Promise<ReadResult>,
  stop: () => Promise<unknown> | undefined,
): Bytes {
  let over = false;
  const iterator: AsyncIterableIterator<Uint8Array, undefined> = {
    async next() {
      if (over) return { done: true, value: undefined };
      try {
        const read = await next();
        if (read.done) over = true;
        return read;
      } catch (error) {
        over = true;
        throw error;
      }
    },
    async return() {
      if (!over) {
        over = true;
        await stop();
      }
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return iterator;
    },
  };
  return iterator;
}

function asRead(read: IteratorResult<Uint8Array, unknown>): ReadResult {
  return read.done ? { done: true, value: undefined } : read;
}
