import type pg from 'pg';
import { sql, type Database } from '../lib/sql.ts';

/**
 * Hints between processes: "this request changed", "there is something to claim". Only ever a hint: whoever listens
 * also looks by itself now and then, so a lost one costs a moment and nothing else.
 */
export interface Hints {
  /** Ids of requests that changed. Told to this process at once, to others in a moment. */
  changed(ids: string[]): void;
  /** There is new work to claim. */
  work(): void;
  onChanged(listener: (ids: string[] | 'any') => void): () => void;
  onWork(listener: () => void): () => void;
  close(): Promise<void>;
}

const channel = 'farebox';
/** A NOTIFY takes a lock of the whole database while it commits, so a process sends few. */
const gatherMs = 25;
/** PostgreSQL takes payloads below 8000 bytes. */
const idsMax = 200;
const reconnectMs = 1_000;

export function openHints(db: Database, options: { remote: boolean; onError: (error: Error) => void }): Hints {
  const changedListeners = new Set<(ids: string[] | 'any') => void>();
  const workListeners = new Set<() => void>();
  let gathered: string[] = [];
  let workGathered = false;
  let timer: NodeJS.Timeout | undefined;
  let listening: pg.Client | undefined;
  let closed = false;
  const self = Math.random().toString(36).slice(2, 10);

  if (options.remote) void listen();

  function gather(): void {
    if (!options.remote || closed) return;
    timer ??= setTimeout(() => void send(), gatherMs);
  }

  async function send(): Promise<void> {
    const ids = gathered.length > idsMax ? 'any' : gathered.join(',');
    const payload = `${self} ${workGathered ? 'w' : '-'} ${ids}`;
    gathered = [];
    workGathered = false;
    timer = undefined;
    try {
      await db.run(sql`select pg_notify(${channel}, ${payload})`);
    } catch (error) {
      options.onError(error as Error);
    }
  }

  function receive(payload: string): void {
    const [from, work, ids = ''] = payload.split(' ');
    if (from === self) return;
    if (ids !== '') tell(ids === 'any' ? 'any' : ids.split(','));
    if (work === 'w') for (const listener of workListeners) listener();
  }

  function tell(ids: string[] | 'any'): void {
    for (const listener of changedListeners) listener(ids);
  }

  async function listen(): Promise<void> {
    try {
      const client = await db.connect();
      if (closed) return void client.end();
      listening = client;
      client.on('notification', ({ payload }) => receive(payload ?? ''));
      client.once('end', () => retry());
      await client.query(`listen ${channel}`);
      // Whatever was told while nobody listened.
      tell('any');
    } catch (error) {
      options.onError(error as Error);
      retry();
    }
  }

  function retry(): void {
    listening = undefined;
    if (!closed) setTimeout(() => void listen(), reconnectMs).unref();
  }

  return {
    changed(ids) {
      if (ids.length === 0) return;
      tell(ids);
      gathered.push(...ids);
      gather();
    },
    work() {
      for (const listener of workListeners) listener();
      workGathered = true;
      gather();
    },
    onChanged(listener) {
      changedListeners.add(listener);
      return () => void changedListeners.delete(listener);
    },
    onWork(listener) {
      workListeners.add(listener);
      return () => void workListeners.delete(listener);
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await listening?.end().catch(() => {});
    },
  };
}
