import { connect } from 'node:net';
import type { Reply } from './service.ts';

/** The result of raw bytes on a socket, for requests that no HTTP client would send. */
export interface Exchange {
  /** Complete replies, in order, without interim ones (1xx). */
  replies: Reply[];
  /** False if the server had not closed the connection in time. */
  closed: boolean;
}

export interface ExchangeOptions {
  /** When to give up waiting for the server to close. */
  withinMs?: number;
  /** The client disconnects after sending: closes its side, or breaks the connection. */
  leave?: 'politely' | 'rudely';
  /** Sent one after the other, each in its own packet. */
  parts?: (string | Buffer)[];
}

/** Sends bytes as they are and reads until the server closes the connection. */
export function exchange(
  base: string,
  bytes: string | Buffer,
  { withinMs = 5_000, leave, parts = [] }: ExchangeOptions = {},
): Promise<Exchange> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(base);
    const chunks: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    const timer = setTimeout(() => done(false), withinMs);
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => done(true));
    socket.on('error', () => {});
    for (const part of [bytes, ...parts]) socket.write(asBytes(part));
    if (leave === 'politely') socket.end();
    // Resets only after the sent bytes have left.
    if (leave === 'rudely') socket.write('', () => socket.resetAndDestroy());
    function done(closed: boolean): void {
      clearTimeout(timer);
      socket.destroy();
      resolve({ replies: parseReplies(Buffer.concat(chunks)), closed });
    }
  });
}

/** Bytes of a text, one for each character, so that any byte can be written. */
function asBytes(part: string | Buffer): Buffer {
  return typeof part === 'string' ? Buffer.from(part, 'latin1') : part;
}

function parseReplies(all: Buffer): Reply[] {
  const replies: Reply[] = [];
  let rest = all;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) throw new Error(`no whole reply: ${rest.toString('latin1').slice(0, 200)}`);
    const [first = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    const headers = new Headers(
      lines.map((line) => line.split(/: ?(.*)/).slice(0, 2) as [string, string]),
    );
    rest = rest.subarray(end + 4);
    if (status < 200) continue;
    const length = headers.get('content-length');
    const bytes = length === null ? rest : rest.subarray(0, Number(length));
    rest = rest.subarray(bytes.length);
    const text = bytes.toString('utf8');
    const isJson = headers.get('content-type')?.includes('json') && text !== '';
    replies.push({ status, headers, text, bytes, body: isJson ? JSON.parse(text) : undefined });
  }
  return replies;
}
