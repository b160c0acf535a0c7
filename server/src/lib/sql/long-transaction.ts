import type pg from 'pg';
import { rowsIn, type Database, type Statement, type Transaction } from './sql.ts';

/**
 * Runs `work` in one transaction on its own connection and without time limits, for work that takes
 * minutes and must not hold a connection of the pool. It is not repeated on failure. Statements run
 * one after the other; if one fails, all later ones fail too.
 * @param mode as after BEGIN, such as `isolation level repeatable read read only`
 * @param work also gets the connection, for COPY; no statement may be running at that time
 * @param signal closes the connection; a running statement may go on until the server notices
 */
export async function runLongTransaction<T>(
  db: Database,
  mode: string,
  work: (tx: Transaction, client: pg.Client) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const client = await db.connect();
  const breakOff = () => void client.end();
  signal?.addEventListener('abort', breakOff);
  try {
    signal?.throwIfAborted();
    await client.query(`begin ${mode}`);
    await client.query('set local statement_timeout = 0');
    await client.query('set local idle_in_transaction_session_timeout = 0');
    const { tx, settled } = queueStatements(client);
    const value = await work(tx, client);
    await settled();
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new Error(`transaction ended with ${command}`);
    return value;
  } finally {
    signal?.removeEventListener('abort', breakOff);
    // Closing the connection rolls back what was not committed.
    await client.end();
  }
}

function queueStatements(client: pg.Client): { tx: Transaction; settled(): Promise<void> } {
  let last: Promise<pg.QueryResult | void> = Promise.resolve();
  const send = (statement: Statement): Promise<pg.QueryResult> => {
    const result = last.then(() => client.query(statement));
    // The caller that awaits the result, or `settled`, reports the error.
    result.catch(() => {});
    last = result;
    return result;
  };
  const tx: Transaction = {
    run: async (statement) => rowsIn(await send(statement)),
    send: (statement) => void send(statement),
  };
  return { tx, settled: async () => void (await last) };
}
