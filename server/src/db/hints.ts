import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { sql, type Database } from '../lib/sql/sql.ts';
import { inTime } from '../lib/sql/silence.ts';
import { demandWritable } from '../lib/sql/writes.ts';
import { errorOf } from '../lib/unknown.ts';

/**
 * Hints between processes: "this request changed", "there is work to claim". Listeners also check
 * by themselves now and then, so a lost hint only delays them.
 */
export interface Hints {
  /** Ids of requests that changed. This process is notified at once, others within a moment. */
  tellChanged(ids: string[]): void;
  /** Ids of new requests. Nobody can be waiting for them yet, but lists show them. */
  tellCreated(ids: string[]): void;
  /** There is new work to claim. */
  work(): void;
  /** Deposits from a chain were seen or credited. */
  deposits(): void;
  /** Returns a function that stops the listener. Listeners of work and deposits get `any`. */
  on(hint: Hint, listener: Listener): () => void;
  close(): Promise<void>;
}

/** Ids of requests, or `any` if there were too many to list. */
type Ids = string[] | 'any';
type Hint = 'changed' | 'created' | 'work' | 'deposits';
type Listener = (ids: Ids) => void;

const channel = 'farebox';
/** NOTIFY takes a database-wide lock while it commits, so each process gathers its hints. */
const gatherMs = 25;
/**
 * Maximum number of ids in a payload, for PostgreSQL's limit of 8000 bytes. Changed requests come
 * first, because callers wait for them.
 */
const idsMax = 200;
const reconnectMs = 1_000;
const pingMs = 15_000;
/** How long to wait for a connection that is being opened or closed. */
const closeMs = 1_000;

export interface HintsOptions {
  /** False: hints are neither sent to other processes nor received from them. */
  remote: boolean;
  onError: (error: Error) => void;
  /** How often the listening connection is checked. */
  pingMs?: number;
}

export function openHints(db: Database, options: HintsOptions): Hints {
  return new Notifier(db, options);
}

class Notifier implements Hints {
  readonly #db: Database;
  readonly #options: HintsOptions;
  readonly #listeners: Record<Hint, Set<Listener>> = {
    changed: new Set(),
    created: new Set(),
    work: new Set(),
    deposits: new Set(),
  };
  /** Marks this process's own hints, which it ignores when they come back. */
  readonly #self = randomBytes(6).toString('hex');
  #gathered: string[] = [];
  #created: string[] = [];
  #workGathered = false;
  #depositsGathered = false;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<void> = Promise.resolve();
  #listening: pg.Client | undefined;
  #closed = false;

  constructor(db: Database, options: HintsOptions) {
    this.#db = db;
    this.#options = options;
    if (options.remote) void this.#listen();
  }

  tellChanged(ids: string[]): void {
    if (ids.length === 0) return;
    this.#tell('changed', ids);
    this.#gathered.push(...ids);
    this.#gather();
  }

  tellCreated(ids: string[]): void {
    this.#tell('created', ids);
    this.#created.push(...ids);
    this.#gather();
  }

  work(): void {
    this.#tell('work');
    this.#workGathered = true;
    this.#gather();
  }

  deposits(): void {
    this.#tell('deposits');
    this.#depositsGathered = true;
    this.#gather();
  }

  on(hint: Hint, listener: Listener): () => void {
    this.#listeners[hint].add(listener);
    return () => void this.#listeners[hint].delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    // A connection left half open would look like another user of the database.
    const patience = new AbortController();
    const enough = pause(closeMs, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([this.#opening, enough]);
    patience.abort();
    await this.#listening?.end().catch(() => {});
  }

  #tell(hint: Hint, ids: Ids = 'any'): void {
    for (const listener of this.#listeners[hint]) listener(ids);
  }

  #gather(): void {
    if (!this.#options.remote || this.#closed) {
      this.#gathered = [];
      this.#created = [];
      return;
    }
    this.#timer ??= setTimeout(() => void this.#send(), gatherMs);
  }

  async #send(): Promise<void> {
    const changed = textOfIds(this.#gathered, idsMax);
    const left = changed === 'any' ? idsMax : idsMax - this.#gathered.length;
    const created = textOfIds(this.#created, left);
    const flags = `${this.#workGathered ? 'w' : '-'}${this.#depositsGathered ? 'd' : ''}`;
    const payload = `${this.#self} ${flags} ${changed} ${created}`;
    this.#gathered = [];
    this.#created = [];
    this.#workGathered = false;
    this.#depositsGathered = false;
    this.#timer = undefined;
    try {
      await this.#db.run(sql`select pg_notify(${channel}, ${payload})`);
    } catch (error) {
      this.#options.onError(errorOf(error));
    }
  }

  #receive(payload: string): void {
    const [from, flags = '', changed = '', created = ''] = payload.split(' ');
    if (from === this.#self) return;
    if (changed !== '') this.#tell('changed', idsOf(changed));
    if (created !== '') this.#tell('created', idsOf(created));
    if (flags.includes('w')) this.#tell('work');
    if (flags.includes('d')) this.#tell('deposits');
  }

  /** Listens on one connection, and on a new one whenever it breaks. */
  async #listen(): Promise<void> {
    while (!this.#closed) {
      try {
        const opened = this.#open();
        this.#opening = opened.then(
          () => {},
          () => {},
        );
        await this.#watch(await opened);
      } catch (error) {
        if (!this.#closed) this.#options.onError(errorOf(error));
      }
      await pause(reconnectMs, undefined, { ref: false });
    }
  }

  async #open(): Promise<ListenConnection> {
    const client = await this.#db.connect();
    const over = new Promise<void>((resolve) => {
      client.once('end', () => {
        this.#listening = undefined;
        resolve();
      });
    });
    try {
      client.on('notification', ({ payload }) => this.#receive(payload ?? ''));
      await client.query(inTime(`listen ${channel}`));
      if (this.#closed) throw new Error('closed meanwhile');
      this.#listening = client;
      // Anything may have changed while this process was not listening.
      this.#tell('changed');
      this.#tell('created');
      return { client, over };
    } catch (error) {
      await leave(client);
      throw error;
    }
  }

  /**
   * Runs until the connection ends. Sends a query now and then, because a connection that only
   * listens does not notice a lost network.
   */
  async #watch({ client, over }: ListenConnection): Promise<void> {
    try {
      for (;;) {
        const rest = pause(this.#options.pingMs ?? pingMs, undefined, { ref: false });
        await Promise.race([over, rest]);
        if (this.#closed || this.#listening !== client) return;
        // No hint comes from a former primary: a new connection may lead to the new one.
        await demandWritable(client);
      }
    } finally {
      this.#listening = undefined;
      if (!this.#closed) await leave(client);
    }
  }
}

interface ListenConnection {
  client: pg.Client;
  over: Promise<void>;
}

/**
 * Closes a connection that failed or did not answer, so that it does not stay open beside the next
 * connection.
 */
async function leave(client: pg.Client): Promise<void> {
  const enough = pause(closeMs, undefined, { ref: false });
  await Promise.race([client.end().catch(() => {}), enough]);
}

function textOfIds(ids: string[], max: number): string {
  return ids.length > max ? 'any' : ids.join(',');
}

function idsOf(text: string): Ids {
  return text === 'any' ? 'any' : text.split(',');
}
