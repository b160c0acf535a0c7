import type { Hints } from '../db/hints.ts';
import type { StatusRow } from '../db/requests/requests.ts';
import { repeat } from '../lib/repeat.ts';

/**
 * Notifies waiting callers when a request has changed. A hint from this or another process starts a
 * check at once; a slow check of all watched requests makes up for lost hints.
 */
export interface RequestEvents {
  /**
   * Calls `listener` with the newest row after each change of status or progress, until the
   * returned function is called. While the request is queued, `onPosition` also gets its position
   * from time to time, changed or not.
   */
  watch(row: StatusRow, listener: Listener, onPosition?: PositionListener): () => void;
  close(): void;
}

type Listener = (row: StatusRow) => void;
type PositionListener = (row: StatusRow, position: number) => void;

interface WatchedRequest {
  seen: string;
  row: StatusRow;
  /** Each listener, with its callback for the queue position if it has one. */
  listeners: Map<Listener, PositionListener | undefined>;
}

interface EventReaders {
  find: (ids: string[]) => Promise<StatusRow[]>;
  /** The position of a queued request; costs no query of its own. */
  position: (row: StatusRow) => Promise<number>;
}

const chunk = 1_000;

export function createRequestEvents(
  hints: Pick<Hints, 'on'>,
  { find, position }: EventReaders,
  onError: (error: unknown) => void,
  { checkMs, positionsMs }: { checkMs: number; positionsMs: number },
): RequestEvents {
  const watched = new Map<string, WatchedRequest>();
  const off = hints.on('changed', (ids) => {
    if (watched.size === 0) return;
    if (ids === 'any') return void check([...watched.keys()]);
    const mine = ids.filter((id) => watched.has(id));
    if (mine.length > 0) void check(mine);
  });
  const checks = repeat(async () => {
    if (watched.size > 0) await check([...watched.keys()]);
    return checkMs;
  }, checkMs);
  const positions = repeat(async () => {
    await tellPositions().catch(onError);
    return positionsMs;
  }, positionsMs);

  async function tellPositions(): Promise<void> {
    for (const entry of watched.values()) {
      if (entry.row.status !== 'IN_QUEUE') continue;
      const queuePosition = await position(entry.row);
      // The request may have left the queue meanwhile, and its listeners know that already.
      if (entry.row.status !== 'IN_QUEUE') continue;
      for (const onPosition of entry.listeners.values()) onPosition?.(entry.row, queuePosition);
    }
  }

  async function check(ids: string[]): Promise<void> {
    try {
      for (let i = 0; i < ids.length; i += chunk) {
        for (const row of await find(ids.slice(i, i + chunk))) tell(row);
      }
    } catch (error) {
      onError(error);
    }
  }

  function tell(row: StatusRow): void {
    const entry = watched.get(row.id);
    const now = versionOf(row);
    if (!entry || entry.seen === now) return;
    entry.seen = now;
    entry.row = row;
    for (const listener of entry.listeners.keys()) listener(row);
  }

  return {
    watch(row, listener, onPosition) {
      const entry = watched.get(row.id) ?? { seen: versionOf(row), row, listeners: new Map() };
      watched.set(row.id, entry);
      // Another caller may have seen a newer row than this one.
      if (entry.seen !== versionOf(row)) void check([row.id]);
      entry.listeners.set(listener, onPosition);
      return () => {
        entry.listeners.delete(listener);
        if (entry.listeners.size === 0 && watched.get(row.id) === entry) watched.delete(row.id);
      };
    },
    close() {
      off();
      void checks.stop();
      void positions.stop();
    },
  };
}

function versionOf(row: StatusRow): string {
  return row.progress === null ? row.status : `${row.status} ${JSON.stringify(row.progress)}`;
}
