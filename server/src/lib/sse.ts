import type { ServerResponse } from 'node:http';

/**
 * Server-sent events with a bound: a reader that does not read is cut, so that it cannot fill the
 * memory.
 */
export interface EventStream {
  /** False once the other side is gone or was cut. */
  send(data: string, event?: string): boolean;
  comment(text: string): boolean;
  /**
   * True once what was sent has left the buffer, or `signal` fires. False where the stream is
   * closed, or was cut here because its reader took nothing for `stallMs`.
   */
  drained(signal?: AbortSignal): Promise<boolean>;
  /** Ends it; a reader that does not take what is left within `stallMs` is cut. */
  end(): void;
  /** Fires when the stream is over, whoever ended it. */
  closed: AbortSignal;
}

export interface EventStreamOptions {
  /** An event that finds more bytes than these still waiting for the reader cuts it. */
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
    // Proxies that gather replies would hold the events back.
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
  // One that was closed before it was opened does not say so again; whoever opens it listens first.
  if (raw.destroyed) queueMicrotask(over);
  else raw.once('close', over);
  raw.on('error', () => {});

  function write(text: string): boolean {
    if (raw.destroyed || raw.writableEnded) return false;
    // What is written now does not count: one event may be larger than the bound.
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
