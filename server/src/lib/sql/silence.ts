import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import type pg from 'pg';
import { fieldOf } from '../unknown.ts';

/** Connections of a pool that have become useless. */

/** The server did not answer within its time limit: neither bytes nor an error came back. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/** A short statement whose answer is not awaited for longer. */
export function inTime(text: string, values: unknown[] = []) {
  return { text, values, query_timeout: 5_000 };
}

/** Replaces connections of a pool. */
export interface Replacement {
  /**
   * Breaks the idle connections. If one connection is silent, they probably are too, and each would
   * cost a caller the whole time limit.
   */
  idle(why: string): void;
  /** Breaks the idle connections now, and the others once their work has ended. */
  all(why: string): void;
}

/** The pool opens new connections in place of those that are broken. */
export function replacementOf(pool: pg.Pool): Replacement {
  const idle = new Set<pg.PoolClient>();
  const busy = new Set<pg.PoolClient>();
  const doomed = new WeakMap<pg.PoolClient, string>();
  const breakWith = (client: pg.PoolClient, why: string) => breakOff(client, new Error(why));
  pool.on('acquire', (client) => {
    idle.delete(client);
    busy.add(client);
  });
  pool.on('release', (_error, client) => {
    busy.delete(client);
    const why = doomed.get(client);
    if (why === undefined) idle.add(client);
    else breakWith(client, why);
  });
  pool.on('remove', (client) => {
    idle.delete(client);
    busy.delete(client);
  });
  return {
    idle: (why) => idle.forEach((client) => breakWith(client, why)),
    all(why) {
      idle.forEach((client) => breakWith(client, why));
      busy.forEach((client) => doomed.set(client, why));
    },
  };
}

/** Breaks a connection: its statements fail, and its pool drops it before it is used again. */
export function breakOff(client: pg.ClientBase, error: Error): void {
  connectionOf(client).emit('error', error);
  socketOf(client).destroy();
}

/** The driver's types do not declare the connection. */
export function connectionOf(client: pg.ClientBase): EventEmitter {
  const connection = fieldOf(client, 'connection');
  if (!(connection instanceof EventEmitter)) throw new TypeError('The driver has no connection');
  return connection;
}

/** The driver's types do not declare the socket. */
export function socketOf(client: pg.ClientBase): Socket {
  const stream = fieldOf(fieldOf(client, 'connection'), 'stream');
  if (!(stream instanceof Socket)) throw new TypeError('The driver has no socket');
  return stream;
}
