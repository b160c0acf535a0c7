import type { ServerResponse } from 'node:http';

/**
 * Server-sent events with a bounded buffer: a reader that does not read is disconnected, so that it
 * cannot fill the memory.
 */
export interface EventStream {
  /** False once the reader is gone or was disconnected. */
  send(data: string, event?: string): boolean;
  comment(text: string): boolean;
  /**
   * True once everything sent has left the buffer, or when `signal` fires. False if the stream is
   * closed, also if it is closed here because the reader took nothing for `stallMs`.
   */
  drained(signal?: AbortSignal): Promise<boolean>;
  /**
   * Ends the stream. A reader that does not take the remaining bytes in `stallMs` is disconnected.
   */
  end(): void;
  /** Fires when the stream is over, whichever side ended it. */
  closed: AbortSignal;
}

export interface EventStreamOptions {
  /**
   * A reader is disconnected if more than this many bytes still wait for it when an event is sent.
   */
  bufferMaxBytes: number;
  keepAliveMs: number;
  stallMs: number;
  /** The signs of life after `keepAliveMs` without an event; none: a comment. */
  alive?: () => { event?: string; data: string }[];
}

/** Made once: an abort without a reason makes an error with a stack for each stream. */
const over = new Error('the stream is over');

export function openEventStream(
  raw: ServerResponse,
  headers: Record<string, string>,
  { bufferMaxBytes, keepAliveMs, stallMs, alive = () => [] }: EventStreamOptions,
): EventStream {
  const closed = new AbortController();
  raw.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Otherwise proxies that buffer replies would hold events back.
    'x-accel-buffering': 'no',
  });
  let hasWritten = false;
  // The first event usually follows at once and takes the headers along.
  setImmediate(() => {
    if (!hasWritten && !raw.destroyed) raw.flushHeaders();
  });
  const send = (data: string, event?: string): boolean =>
    write(`${event ? `event: ${event}\n` : ''}data: ${data}\n\n`);
  const keepAlive = setInterval(() => {
    const signs = alive();
    if (signs.length === 0) write(': keep-alive\n\n');
    for (const { data, event } of signs) send(data, event);
  }, keepAliveMs);
  let linger: NodeJS.Timeout | undefined;
  const end = () => {
    clearInterval(keepAlive);
    clearTimeout(linger);
    closed.abort(over);
  };
  // A connection that was closed before this call emits no event.
  if (raw.destroyed) queueMicrotask(end);
  else raw.once('close', end);
  raw.on('error', () => {});

  function write(text: string): boolean {
    if (raw.destroyed || raw.writableEnded) return false;
    // The new event does not count, because a single event may be larger than the limit.
    // guard: slow-reader-is-cut
    if (raw.writableLength > bufferMaxBytes) {
      raw.destroy();
      return false;
    }
    raw.write(text);
    keepAlive.refresh();
    // Node would hold the first event back until the other events of this turn are written.
    if (!hasWritten) raw.socket?.uncork();
    hasWritten = true;
    return true;
  }

  return {
    send,
    comment: (text) => write(`: ${text}\n\n`),
    drained: (signal) => waitForDrain(raw, stallMs, signal),
    end() {
      if (raw.destroyed || raw.writableEnded) return;
      raw.end();
      linger = setTimeout(() => raw.destroy(), stallMs);
      linger.unref();
    },
    closed: closed.signal,
  };
}

const nothingWaits = Promise.resolve(true);

function waitForDrain(
  raw: ServerResponse,
  stallMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  if (raw.destroyed || !raw.writableNeedDrain || signal?.aborted)
    return raw.destroyed ? Promise.resolve(false) : nothingWaits;
  return new Promise((resolve) => {
    const timer = setTimeout(() => raw.destroy(), stallMs);
    const done = () => {
      clearTimeout(timer);
      raw.removeListener('drain', done);
      raw.removeListener('close', done);
      signal?.removeEventListener('abort', done);
      resolve(!raw.destroyed);
    };
    raw.once('drain', done);
    raw.once('close', done);
    signal?.addEventListener('abort', done);
  });
}
