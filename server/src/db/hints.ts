import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { sql, type Database } from '../lib/sql.ts';

/**
 * Hints between processes: "this request changed", "there is something to claim". Only ever a hint:
 * whoever listens also looks by itself now and then, so a lost one costs a moment and nothing else.
 */
export interface Hints {
  /** Ids of requests that changed. Told to this process at once, to others in a moment. */
  changed(ids: string[]): void;
  /** Ids of requests that are new: nobody can wait for them yet, but lists of requests can. */
  created(ids: string[]): void;
  /** There is new work to claim. */
  work(): void;
  onChanged(listener: (ids: Ids) => void): () => void;
  onCreated(listener: (ids: Ids) => void): () => void;
  onWork(listener: () => void): () => void;
  close(): Promise<void>;
}

/** Which requests; `any` where they were too many to name. */
type Ids = string[] | 'any';

const channel = 'farebox';
/** A NOTIFY takes a lock of the whole database while it commits, so a process sends few. */
const gatherMs = 25;
/** PostgreSQL takes payloads below 8000 bytes. Changes come first: callers wait for them. */
const idsMax = 200;
const reconnectMs = 1_000;
const pingMs = 15_000;
/** How long a ping may take to be answered. */
const pongMs = 5_000;
/** How long `close` waits for a connection that is being opened. */
const closeMs = 1_000;

export interface HintsOptions {
  /** False: hints stay in this process. */
  remote: boolean;
  onError: (error: Error) => void;
  /** Between two looks whether the connection that listens is still one. */
  pingMs?: number;
}

export function openHints(db: Database, options: HintsOptions): Hints {
  return new Notifier(db, options);
}

class Notifier implements Hints {
  readonly #db: Database;
  readonly #options: HintsOptions;
  readonly #changedListeners = new Set<(ids: Ids) => void>();
  readonly #createdListeners = new Set<(ids: Ids) => void>();
  readonly #workListeners = new Set<() => void>();
  /** Marks what came from this process, which has heard it already. */
  readonly #self = randomBytes(6).toString('hex');
  #gathered: string[] = [];
  #created: string[] = [];
  #workGathered = false;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<void> = Promise.resolve();
  #listening: pg.Client | undefined;
  #closed = false;

  constructor(db: Database, options: HintsOptions) {
    this.#db = db;
    this.#options = options;
    if (options.remote) this.#opening = this.#listen();
  }

  changed(ids: string[]): void {
    if (ids.length === 0) return;
    tell(this.#changedListeners, ids);
    this.#gathered.push(...ids);
    this.#gather();
  }

  created(ids: string[]): void {
    tell(this.#createdListeners, ids);
    this.#created.push(...ids);
    this.#gather();
  }

  work(): void {
    for (const listener of this.#workListeners) listener();
    this.#workGathered = true;
    this.#gather();
  }

  onChanged(listener: (ids: Ids) => void): () => void {
    this.#changedListeners.add(listener);
    return () => void this.#changedListeners.delete(listener);
  }

  onCreated(listener: (ids: Ids) => void): () => void {
    this.#createdListeners.add(listener);
    return () => void this.#createdListeners.delete(listener);
  }

  onWork(listener: () => void): () => void {
    this.#workListeners.add(listener);
    return () => void this.#workListeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    // One that is just being opened would look like somebody else who uses the database.
    const patience = new AbortController();
    const enough = pause(closeMs, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([this.#opening, enough]);
    patience.abort();
    await this.#listening?.end().catch(() => {});
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
    const changed = named(this.#gathered, idsMax);
    const left = changed === 'any' ? idsMax : idsMax - this.#gathered.length;
    const created = named(this.#created, left);
    const payload = `${this.#self} ${this.#workGathered ? 'w' : '-'} ${changed} ${created}`;
    this.#gathered = [];
    this.#created = [];
    this.#workGathered = false;
    this.#timer = undefined;
    try {
      await this.#db.run(sql`select pg_notify(${channel}, ${payload})`);
    } catch (error) {
      this.#options.onError(error as Error);
    }
  }

  #receive(payload: string): void {
    const [from, work, changed = '', created = ''] = payload.split(' ');
    if (from === this.#self) return;
    if (changed !== '') tell(this.#changedListeners, idsOf(changed));
    if (created !== '') tell(this.#createdListeners, idsOf(created));
    if (work === 'w') for (const listener of this.#workListeners) listener();
  }

  async #listen(): Promise<void> {
    try {
      const client = await this.#db.connect();
      if (this.#closed) return await client.end();
      this.#listening = client;
      client.on('notification', ({ payload }) => this.#receive(payload ?? ''));
      client.once('end', () => this.#retry());
      await client.query(`listen ${channel}`);
      // Whatever was told while nobody listened.
      tell(this.#changedListeners, 'any');
      tell(this.#createdListeners, 'any');
      void this.#watch(client);
    } catch (error) {
      this.#options.onError(error as Error);
      this.#retry();
    }
  }

  /** Whoever only listens is not told that the line is dead, and has to ask. */
  async #watch(client: pg.Client): Promise<void> {
    try {
      for (;;) {
        await pause(this.#options.pingMs ?? pingMs, undefined, { ref: false });
        if (this.#closed || this.#listening !== client) return;
        const ping = { text: 'select 1', query_timeout: pongMs };
        await client.query(ping);
      }
    } catch (error) {
      this.#options.onError(error as Error);
      await client.end();
    }
  }

  #retry(): void {
    this.#listening = undefined;
    if (this.#closed) return;
    setTimeout(() => (this.#opening = this.#listen()), reconnectMs).unref();
  }
}

function tell(listeners: Set<(ids: Ids) => void>, ids: Ids): void {
  for (const listener of listeners) listener(ids);
}

function named(ids: string[], max: number): string {
  return ids.length > max ? 'any' : ids.join(',');
}

function idsOf(text: string): Ids {
  return text === 'any' ? 'any' : text.split(',');
}
