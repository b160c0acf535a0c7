import net from 'node:net';

/**
 * Keeps a number of HTTP/1.1 connections busy with one request each, and counts the replies. To use
 * little CPU, it writes prepared bytes and reads only the status and the end of each reply.
 */
export interface LoadOptions {
  port: number;
  connections: number;
  seconds: number;
  /** Maximum number of requests per second; if absent, as many as the connections can carry. */
  perSecond?: number;
  /** Uncounted time at the start, to warm up code and caches. */
  warmupSeconds?: number;
  /** Bytes of the n-th request. */
  request: (n: number) => Buffer;
  /** Called with each reply's body if given; costs time. */
  onBody?: (body: string) => void;
}

export interface LoadResult {
  requests: number;
  /** Requests sent, including those of the warm-up. */
  sent: number;
  /** Replies per second. */
  rate: number;
  /** Milliseconds until each reply, in ascending order. */
  latencies: number[];
  /** Number of replies by status. */
  statuses: Record<string, number>;
  errors: number;
}

export async function load(options: LoadOptions): Promise<LoadResult> {
  const { port, connections, seconds, warmupSeconds = 2, perSecond, request } = options;
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  let errors = 0;
  let sent = 0;
  const began = performance.now();
  const begin = began + warmupSeconds * 1000;
  const end = begin + seconds * 1000;

  await Promise.all(Array.from({ length: connections }, () => run()));
  latencies.sort((a, b) => a - b);
  const requests = latencies.length;
  return { requests, sent, rate: requests / seconds, latencies, statuses, errors };

  function run(): Promise<void> {
    return new Promise((resolve) => {
      const socket = net.connect(port, '127.0.0.1');
      socket.setNoDelay(true);
      let buffered: Buffer = Buffer.alloc(0);
      let started = 0;
      const next = () => {
        const now = performance.now();
        if (now >= end) return void socket.end();
        const early = perSecond === undefined ? 0 : began + (sent / perSecond) * 1000 - now;
        if (early > 1) return void setTimeout(next, early);
        started = now;
        socket.write(request(sent++));
      };
      socket.on('connect', next);
      socket.on('data', (chunk) => {
        buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
        const size = messageSize(buffered);
        if (size === null || buffered.length < size) return;
        const now = performance.now();
        if (now >= begin && now < end) {
          latencies.push(now - started);
          const status = buffered.toString('latin1', 9, 12);
          statuses[status] = (statuses[status] ?? 0) + 1;
        }
        options.onBody?.(buffered.subarray(buffered.indexOf('\r\n\r\n') + 4, size).toString());
        buffered = buffered.subarray(size);
        next();
      });
      socket.on('error', () => errors++);
      socket.on('close', () => resolve());
    });
  }
}

/** Milliseconds within which this share of the replies arrived. */
export function within(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/**
 * Length in bytes of the first message in the buffer, by its Content-Length or its last chunk; null
 * while it is not known.
 */
export function messageSize(buffer: Buffer): number | null {
  const head = buffer.indexOf('\r\n\r\n');
  if (head === -1) return null;
  const text = buffer.toString('latin1', 0, head).toLowerCase();
  if (text.includes('transfer-encoding: chunked')) {
    const last = buffer.indexOf('\r\n0\r\n\r\n', head);
    return last === -1 ? null : last + 7;
  }
  const at = text.indexOf('content-length:');
  return head + 4 + (at === -1 ? 0 : Number.parseInt(text.slice(at + 15), 10));
}

export function httpRequest(
  method: string,
  path: string,
  headers: Record<string, string>,
  body = '',
): Buffer {
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${lines}${length}\r\n${body}`,
  );
}
