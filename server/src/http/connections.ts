import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Calls that may be under way on one connection; Node begins pipelined ones all at once. */
export const callsPerConnectionMax = 16;

export interface Connections {
  /** The calls under way on a connection, for whoever begins one to add and take out again. */
  calls(socket: Socket): Set<ServerResponse>;
}

interface Line {
  calls: Set<ServerResponse>;
  /** What the other side has taken, as of the last look at which that had changed, and when. */
  taken: number;
  since: number;
}

/** Frees what a connection holds: with its end, and where its other side takes nothing any more. */
export function watchConnections(app: FastifyInstance, stallMs: number): Connections {
  const lines = new Map<Socket, Line>();
  app.server.on('connection', (socket: Socket) => {
    const line = { calls: new Set<ServerResponse>(), taken: 0, since: 0 };
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
    for (const [socket, line] of lines) cutStalled(socket, line, now, stallMs);
  }, stallMs / 4);
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
  return { calls: (socket) => lines.get(socket)?.calls ?? new Set() };
}

function cutStalled(socket: Socket, line: Line, now: number, stallMs: number): void {
  // Of a large chunk only the handle knows how much has left; Node's idle clock goes by it too.
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null };
  const taken = socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0);
  if (socket.writableLength === 0 || taken !== line.taken) {
    line.taken = taken;
    line.since = now;
  } else if (now - line.since >= stallMs) {
    socket.destroy();
  }
}
