import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Times } from './times.ts';

/** Calls that may be under way on one connection; Node begins pipelined ones all at once. */
export const callsPerConnectionMax = 4;

export interface Connections {
  /** The calls under way on a connection, for whoever begins one to add and take out again. */
  calls(socket: Socket): Set<ServerResponse>;
  /**
   * Lets the last reply under way on each connection say that it is the last, where that can still
   * be said: who is not told may send the next call into a connection that is being closed.
   */
  announceEnd(): void;
}

interface Line {
  calls: Set<ServerResponse>;
  /** What its other side had taken when the window began, and how much more is due in it. */
  taken: number;
  due: number;
  since: number;
}

/** Frees what a connection holds: with its end, and where its other side takes next to nothing. */
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
      // Node tells only the reply whose turn it was; those behind it would wait for ever.
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
    // On which nothing was said yet: it counts as busy for Node, and would hold up the stop.
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
  // Of a large chunk only the handle knows how much has left; Node's idle clock goes by it too.
  const { _handle: handle } = socket as {
    _handle?: { bytesWritten: number; writeQueueSize: number } | null;
  };
  if (!handle) return;
  const taken = handle.bytesWritten - handle.writeQueueSize;
  const waiting = socket.bytesWritten - taken;
  if (waiting === 0 || taken - line.taken >= line.due) {
    // Who took all that waited is not slow, however little that was: a stream may be quiet.
    line.due = Math.min(stallLeastBytes, waiting);
    line.taken = taken;
    line.since = now;
  } else if (now - line.since >= stallMs) {
    socket.destroy();
  }
}

/** True once a reply's turn on its connection has come; false where that has ended before. */
export function turnOf(raw: ServerResponse): Promise<boolean> {
  if (raw.destroyed || raw.socket !== null) return Promise.resolve(!raw.destroyed);
  return new Promise((resolve) => {
    raw.once('socket', () => resolve(true));
    raw.once('close', () => resolve(false));
  });
}
