import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { breakOff } from './silence.ts';

/** Work on a connection whose result is no longer awaited. */

/** For the work to end by itself, because a new connection costs more than most statements. */
const graceMs = 1_000;
/** How often the server checks during a statement that its client is still connected. */
export const checkMs = 1_000;

/** The connection was broken because nobody awaits its work. */
export class WorkAbandoned extends Error {}

/**
 * Runs work on a connection. If the signal fires meanwhile, breaks the connection soon, so that the
 * server ends the statement and undoes its transaction, and throws the signal's reason. A request
 * to cancel might reach the next statement of the connection instead.
 */
export async function runUnlessAbandoned<T>(
  client: pg.PoolClient,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (!signal) return work();
  let timer: NodeJS.Timeout | undefined;
  const abandon = () => {
    timer = setTimeout(() => breakOff(client, new WorkAbandoned('nobody awaits it')), graceMs);
  };
  if (signal.aborted) abandon();
  else signal.addEventListener('abort', abandon);
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WorkAbandoned)) throw error;
    // Until the server has noticed, the work may go on, so its place stays taken.
    await pause(checkMs, undefined, { ref: false });
    throw signal.reason;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abandon);
  }
}
