import type pg from 'pg';
import { isAway, isReadOnly, ReadOnlyDatabase, refusesWrites } from './faults.ts';
import { needs } from './session.ts';
import { inTime, type Replacement } from './silence.ts';

/** Whether the database does its work: it answers, it is no standby, and its disk has room. */

export interface Watch {
  /** The database takes writes, after a failure. */
  noteAnswer(): void;
  /** The server was not reached, gave no answer, or takes no writes. */
  noteFailure(error: unknown): void;
}

/** How long the disk's refusal of a write counts, and how long a good check of the disk. */
const refusalMs = 5_000;
const spaceMs = 5_000;
/** How often all connections are replaced while the database is read-only. */
const replaceMs = 1_000;

const readOnlyQuery = inTime(
  `values (current_setting('transaction_read_only'), current_setting('in_hot_standby'))`,
);

/**
 * A list that does not fit into memory: PostgreSQL writes it into a file on the disk of our tables,
 * and removes the file. This needs no rights and leaves no dead rows.
 */
const spaceQuery = inTime(`set local work_mem = '64kB';
  values (set_config('temp_tablespaces',
    coalesce(quote_ident(nullif(current_setting('default_tablespace'), '')), ''), true));
  select from generate_series(1, 20000) limit 1`);

const standby = 'PostgreSQL is a standby, which takes no writes. Connect to the primary.';

/** Throws `ReadOnlyDatabase` if no transaction of this connection can write. */
export async function demandWritable(client: pg.Pool | pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ column1: string; column2: string }>(readOnlyQuery);
  const { column1: isReadOnly, column2: isStandby } = rows[0]!;
  if (isStandby === 'on') throw new ReadOnlyDatabase(standby);
  if (isReadOnly === 'on')
    throw new ReadOnlyDatabase(needs('default_transaction_read_only', 'on', 'off'));
}

export class WritePool {
  readonly #pool: pg.Pool;
  readonly #replacement: Replacement;
  readonly #options: { watch?: Watch; idleWrite?: string };
  #isTroubled = false;
  #isChecking = false;
  #refusal: { error: unknown; at: number } | null = null;
  #hadSpaceAt = -Infinity;
  #replacedAt = -Infinity;

  constructor(
    pool: pg.Pool,
    replacement: Replacement,
    options: { watch?: Watch; idleWrite?: string },
  ) {
    this.#pool = pool;
    this.#replacement = replacement;
    this.#options = options;
  }

  /** Notes that a statement or transaction has failed. */
  noteFailure(error: unknown): void {
    if (!isAway(error)) return;
    this.#isTroubled = true;
    if (isReadOnly(error)) this.#replaceConnections();
    else if (refusesWrites(error)) this.#refusal = { error, at: performance.now() };
    this.#options.watch?.noteFailure(error);
  }

  /** True from a failure until a check has succeeded. */
  get isTroubled(): boolean {
    return this.#isTroubled;
  }

  /** Checks writes after a failure, because a statement that succeeded may have been a read. */
  async recheck(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    // A failed check has noted why.
    await this.demand().catch(() => {});
    this.#isChecking = false;
  }

  /**
   * Resolves if writes work. Rejects if the database is away, is read-only or has no space, or if
   * its disk has refused a write in the last seconds, because the check cannot see every reason.
   */
  async demand(): Promise<void> {
    const { idleWrite: text } = this.#options;
    const refusal = this.#refusal;
    if (refusal !== null && performance.now() - refusal.at < refusalMs) throw refusal.error;
    try {
      await demandWritable(this.#pool);
      if (text !== undefined) await this.#pool.query(inTime(text));
      await this.#demandSpace();
    } catch (error) {
      this.noteFailure(error);
      throw error;
    }
    if (!this.#isTroubled) return;
    this.#isTroubled = false;
    this.#options.watch?.noteAnswer();
  }

  async #demandSpace(): Promise<void> {
    if (!this.#isTroubled && performance.now() - this.#hadSpaceAt < spaceMs) return;
    await this.#pool.query(spaceQuery);
    this.#hadSpaceAt = performance.now();
  }

  /** A new connection may lead to the new primary, or have been allowed to write. */
  #replaceConnections(): void {
    if (performance.now() - this.#replacedAt < replaceMs) return;
    this.#replacedAt = performance.now();
    this.#replacement.all('a connection was replaced, because its database takes no writes');
  }
}
