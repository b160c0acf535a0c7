import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Times } from './times.ts';
import { fieldOf } from '../lib/unknown.ts';

/**
 * Maximum number of calls in progress on one connection; Node begins all pipelined calls at once.
 */
export const callsPerConnectionMax = 4;

export interface Connections {
  /** The calls in progress on a connection; the caller adds and removes them. */
  calls(socket: Socket): Set<ServerResponse>;
  /**
   * Makes the last reply in progress on each connection announce that it is the last, if its
   * headers are not sent yet. Otherwise the client may send its next call into a closing
   * connection.
   */
  announceEnd(): void;
}

interface Line {
  calls: Set<ServerResponse>;
  /** Bytes that the client had taken when the window began. */
  taken: number;
  /** Bytes that the client must take within the window. */
  due: number;
  since: number;
}

/**
 * Ends the calls of a connection that closes, and closes a connection whose client takes next to
 * nothing.
 */
export function watchConnections(
  app: FastifyInstance,
  bounds: Pick<Times, 'stallMs' | 'stallLeastBytes'>,
): Connections {
  const lines = new Map<Socket, Line>();
  app.server.on('connection', (socket: Socket) => {
    const line = { calls: new Set<ServerResponse>(), taken: 0, due: 0, since: 0 };
    lines.set(socket, line);
    socket.once('close', () => {
      lines.delete(socket);
      // Node closes only the first reply; the replies behind it would wait for ever.
      for (const raw of line.calls) {
        if (raw.socket !== null) continue;
        raw.destroy();
        raw.emit('close');
      }
    });
  });
  const look = setInterval(() => {
    const now = performance.now();
    for (const [socket, line] of lines) cutStalled(socket, line, now, bounds);
  }, bounds.stallMs / 4);
  look.unref();
  app.addHook('preClose', (done) => {
    // Node counts a connection without any call as busy, which would delay the stop.
    for (const socket of lines.keys()) if (socket.bytesRead === 0) socket.destroy();
    done();
  });
  app.addHook('onClose', (_app, done) => {
    clearInterval(look);
    done();
  });
  return {
    calls: (socket) => lines.get(socket)?.calls ?? new Set(),
    announceEnd() {
      for (const { calls } of lines.values()) {
        const last = [...calls].at(-1);
        if (last && !last.headersSent) last.setHeader('connection', 'close');
      }
    },
  };
}

function cutStalled(
  socket: Socket,
  line: Line,
  now: number,
  { stallMs, stallLeastBytes }: Pick<Times, 'stallMs' | 'stallLeastBytes'>,
): void {
  // For a large chunk only the handle knows how many bytes have left; Node's idle timer uses it
  // too.
  const handle = fieldOf(socket, '_handle');
  if (!handle) return;
  const taken = Number(fieldOf(handle, 'bytesWritten')) - Number(fieldOf(handle, 'writeQueueSize'));
  const waiting = socket.bytesWritten - taken;
  if (waiting === 0 || taken - line.taken >= line.due) {
    // A client that took everything is not slow, even if there was little: a stream may be quiet.
    line.due = Math.min(stallLeastBytes, waiting);
    line.taken = taken;
    line.since = now;
  } else if (now - line.since >= stallMs) {
    socket.destroy();
  }
}

/** Resolves to true once all earlier replies of the connection are sent, to false if it closes. */
export function waitToReply(raw: ServerResponse): Promise<boolean> {
  if (raw.destroyed || raw.socket !== null) return Promise.resolve(!raw.destroyed);
  return new Promise((resolve) => {
    raw.once('socket', () => resolve(true));
    raw.once('close', () => resolve(false));
  });
}
