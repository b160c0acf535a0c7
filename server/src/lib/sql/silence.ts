import { Socket } from 'node:net';
import type pg from 'pg';
import { fieldOf } from '../unknown.ts';

/** Connections that fall silent: neither bytes nor an error come back. */

/** The server did not answer within its time limit. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * If one connection is silent, the idle connections probably are too, and each would cost a caller
 * the whole time limit. Returns a function that breaks the idle connections, so that the pool opens
 * new ones.
 */
export function idleOf(pool: pg.Pool): () => void {
  const idle = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => void idle.delete(client));
  pool.on('release', (_error, client) => void idle.add(client));
  pool.on('remove', (client) => void idle.delete(client));
  return () =>
    idle.forEach((client) => {
      // Makes the pool drop the connection at once, before it is used again.
      client.emit(
        'error',
        new Error('an idle connection was closed because another one stopped answering'),
      );
      socketOf(client).destroy();
    });
}

/** The driver's types do not declare the socket. */
export function socketOf(client: pg.ClientBase): Socket {
  const stream = fieldOf(fieldOf(client, 'connection'), 'stream');
  if (!(stream instanceof Socket)) throw new TypeError('The driver has no socket');
  return stream;
}
