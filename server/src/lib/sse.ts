import type { ServerResponse } from 'node:http';

/**
 * Server-sent events with a bound: a reader that does not read is cut, so that it cannot fill the
 * memory.
 */
export interface EventStream {
  /** False once the other side is gone or was cut. */
  send(data: string, event?: string): boolean;
  comment(text: string): boolean;
  /** Resolves when what was sent has left the buffer, or the stream is closed. */
  drained(): Promise<void>;
  end(): void;
  /** Fires when the stream is over, whoever ended it. */
  closed: AbortSignal;
}

export interface EventStreamOptions {
  /** Bytes that may wait for the reader; beyond it the connection is destroyed. */
  bufferMaxBytes: number;
  keepAliveMs: number;
}

export function openEventStream(
  raw: ServerResponse,
  headers: Record<string, string>,
  { bufferMaxBytes, keepAliveMs }: EventStreamOptions,
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
  raw.once('close', () => {
    clearInterval(keepAlive);
    closed.abort();
  });
  raw.on('error', () => {});

  function write(text: string): boolean {
    if (raw.destroyed || raw.writableEnded) return false;
    raw.write(text);
    if (raw.writableLength > bufferMaxBytes) {
      raw.destroy();
      return false;
    }
    return true;
  }

  return {
    send: (data, event) => write(`${event ? `event: ${event}\n` : ''}data: ${data}\n\n`),
    comment: (text) => write(`: ${text}\n\n`),
    drained() {
      if (!raw.writableNeedDrain || raw.destroyed) return Promise.resolve();
      return new Promise((resolve) => {
        raw.once('drain', resolve);
        raw.once('close', resolve);
      });
    },
    end: () => void raw.end(),
    closed: closed.signal,
  };
}
