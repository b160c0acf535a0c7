import type { ServerResponse } from 'node:http';

/**
 * Server-sent events with a bound: a reader that does not read is disconnected, so that it cannot
 * fill the memory.
 */
export interface EventStream {
  /** False once the other side is gone or was disconnected. */
  send(data: string, event?: string): boolean;
  comment(text: string): boolean;
  /**
   * True once everything sent has left the buffer, or `signal` fires. False if the stream is
   * closed, or was closed here because its reader took nothing for `stallMs`.
   */
  drained(signal?: AbortSignal): Promise<boolean>;
  /** Ends it; a reader that does not take the remaining bytes within `stallMs` is disconnected. */
  end(): void;
  /** Fires when the stream is over, whichever side ended it. */
  closed: AbortSignal;
}

export interface EventStreamOptions {
  /** A reader is disconnected if an event finds more bytes than this waiting for it. */
  bufferMaxBytes: number;
  keepAliveMs: number;
  stallMs: number;
}

export function openEventStream(
  raw: ServerResponse,
  headers: Record<string, string>,
  { bufferMaxBytes, keepAliveMs, stallMs }: EventStreamOptions,
): EventStream {
  const closed = new AbortController();
  raw.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Proxies that buffer replies would hold the events back.
    'x-accel-buffering': 'no',
  });
  raw.flushHeaders();
  const keepAlive = setInterval(() => write(': keep-alive\n\n'), keepAliveMs);
  let linger: NodeJS.Timeout | undefined;
  const over = () => {
    clearInterval(keepAlive);
    clearTimeout(linger);
    closed.abort();
  };
  // A connection closed before this call emits no event; otherwise listen for it.
  if (raw.destroyed) queueMicrotask(over);
  else raw.once('close', over);
  raw.on('error', () => {});

  function write(text: string): boolean {
    if (raw.destroyed || raw.writableEnded) return false;
    // The current event does not count: a single one may be larger than the bound.
    // guard: slow-reader-is-cut
    if (raw.writableLength > bufferMaxBytes) {
      raw.destroy();
      return false;
    }
    raw.write(text);
    return true;
  }

  async function drained(signal?: AbortSignal): Promise<boolean> {
    if (!raw.destroyed && raw.writableNeedDrain && !signal?.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => raw.destroy(), stallMs);
        const done = () => {
          clearTimeout(timer);
          raw.removeListener('drain', done);
          raw.removeListener('close', done);
          signal?.removeEventListener('abort', done);
          resolve();
        };
        raw.once('drain', done);
        raw.once('close', done);
        signal?.addEventListener('abort', done);
      });
    }
    return !raw.destroyed;
  }

  return {
    send: (data, event) => write(`${event ? `event: ${event}\n` : ''}data: ${data}\n\n`),
    comment: (text) => write(`: ${text}\n\n`),
    drained,
    end() {
      if (raw.destroyed || raw.writableEnded) return;
      raw.end();
      linger = setTimeout(() => raw.destroy(), stallMs);
      linger.unref();
    },
    closed: closed.signal,
  };
}
