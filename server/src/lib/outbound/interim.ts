import type { Socket } from 'node:net';

/**
 * Drops interim replies (1xx). Some servers and proxies send `100 Continue` unasked, and undici
 * breaks the connection off then, before the answer of a call that may have been paid.
 */
export function dropInterim<S extends Socket>(socket: S): S {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  /** Nothing of the reply to the newest request was read yet. */
  let isHead = true;
  let held: Buffer = Buffer.alloc(0);
  const readHead = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size) as Buffer | null;
      if (chunk === null) return null;
      held = Buffer.concat([held, chunk]);
      const rest = afterInterim(held);
      if (rest === null) continue;
      isHead = false;
      held = Buffer.alloc(0);
      return rest;
    }
  };
  return Object.assign(socket, {
    write(...args: unknown[]) {
      isHead = true;
      return write(...args);
    },
    read: (size?: number) => (isHead ? readHead(size) : (read(size) as Buffer | null)),
  });
}

/** A longer head is left to undici, which refuses it. */
const headMax = 16 * 1024;
const starts = ['HTTP/1.1 1', 'HTTP/1.0 1'];
const statusLength = 'HTTP/1.1 100'.length;

/** The bytes after interim replies; null: too few bytes have come to tell. */
function afterInterim(bytes: Buffer): Buffer | null {
  const start = bytes.toString('latin1', 0, statusLength);
  if (!starts.some((each) => each.startsWith(start.slice(0, each.length)))) return bytes;
  if (start.length < statusLength) return null;
  // 101 is final: the other side speaks another protocol from here on.
  if (start.endsWith('101')) return bytes;
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return bytes.length > headMax ? bytes : null;
  return afterInterim(bytes.subarray(end + 4));
}
