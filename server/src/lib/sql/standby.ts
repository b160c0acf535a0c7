import pg from 'pg';
import { codeOf } from '../unknown.ts';
import { isUnavailable } from './faults.ts';
import { settingsOfTransaction } from './session.ts';
import { breakOff } from './silence.ts';
import {
  openPool,
  poolStats,
  rawSql,
  transact,
  type Database,
  type DatabaseOptions,
  type Transaction,
} from './sql.ts';

/** A database, or the part of it that answers reads. */
export type Reads = Pick<Database, 'run' | 'tx'>;

/** A database that only reads are sent to. */
export interface Standby extends Reads, Pick<Database, 'close' | 'stats'> {
  /** Breaks all connections, so that their statements fail at once. */
  hangUp(): void;
}

export interface StandbyUse {
  standby: Reads;
  /** False: the primary answers all reads. */
  isUsed(): boolean;
  /** A read has failed on the standby, and goes to the primary. */
  onFailure(error: unknown): void;
}

const cancelled = '57014';

/**
 * Nothing is kept in sessions, so that a pooler in transaction mode may share them: each statement
 * has a transaction that reads only, with its own settings, and none is prepared.
 */
export function openStandby(options: DatabaseOptions): Standby {
  const { applicationName: name, statementTimeoutMs: statementMs } = options;
  const { pool } = openPool(options, name);
  const clients = new Set<pg.PoolClient>();
  pool.on('connect', (client) => clients.add(client));
  pool.on('remove', (client) => clients.delete(client));
  const opening = [
    rawSql('begin isolation level read committed read only'),
    settingsOfTransaction({ statementMs }),
  ];
  const tx: Reads['tx'] = (work, wanted) =>
    transact(pool, (given) => work(unprepared(given)), wanted, opening);
  return {
    tx,
    run: (statement, wanted) => tx((given) => given.run(statement), wanted),
    hangUp: () =>
      clients.forEach((client) => breakOff(client, new Error('Connection terminated: hung up'))),
    stats: () => poolStats(pool),
    close: () => pool.end(),
  };
}

function unprepared(tx: Transaction): Transaction {
  return {
    run: ({ text, values }) => tx.run({ text, values }),
    send: ({ text, values }) => tx.send({ text, values }),
  };
}

/**
 * The reads of one call: at the standby while that is in use and until one fails there, from then
 * on at the primary, so that no read is older than the one before. A read that was cancelled
 * because it took too long is not repeated.
 */
export function standbyFirst({ standby, ...use }: StandbyUse, primary: Reads): Reads {
  let stays = true;
  const first = async <T>(read: (db: Reads) => Promise<T>): Promise<T> => {
    stays &&= use.isUsed();
    if (!stays) return read(primary);
    try {
      return await read(standby);
    } catch (error) {
      const isOfDatabase = error instanceof pg.DatabaseError || isUnavailable(error);
      if (!isOfDatabase || codeOf(error) === cancelled) throw error;
      stays = false;
      use.onFailure(error);
      return read(primary);
    }
  };
  return {
    run: (statement) => first((db) => db.run(statement)),
    tx: (work) => first((db) => db.tx(work)),
  };
}
