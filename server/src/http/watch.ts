import type { Hints } from '../db/hints.ts';
import type { StatusRow } from '../db/requests.ts';

/**
 * Tells callers who wait that a request has changed. A hint from this or another process makes it
 * look at once; a slow look at everything that is watched makes up for hints that were lost.
 */
export interface Watch {
  /**
   * Calls back with the newest row whenever its status or progress changed; returns how to stop.
   */
  watch(row: StatusRow, listener: (row: StatusRow) => void): () => void;
  /** Calls that wait now. */
  size(): number;
  close(): void;
}

interface Watched {
  seen: string;
  listeners: Set<(row: StatusRow) => void>;
}

const chunk = 1_000;

export function createWatch(
  hints: Pick<Hints, 'onChanged'>,
  find: (ids: string[]) => Promise<StatusRow[]>,
  onError: (error: unknown) => void,
  lookMs: number,
): Watch {
  const watched = new Map<string, Watched>();
  const off = hints.onChanged((ids) => {
    if (watched.size === 0) return;
    if (ids === 'any') return void look([...watched.keys()]);
    const mine = ids.filter((id) => watched.has(id));
    if (mine.length > 0) void look(mine);
  });
  let looking = false;
  let size = 0;
  const timer = setInterval(() => {
    if (looking || watched.size === 0) return;
    looking = true;
    void look([...watched.keys()]).finally(() => (looking = false));
  }, lookMs);
  timer.unref();

  async function look(ids: string[]): Promise<void> {
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
    for (const listener of entry.listeners) listener(row);
  }

  return {
    watch(row, listener) {
      const entry = watched.get(row.id) ?? { seen: versionOf(row), listeners: new Set() };
      watched.set(row.id, entry);
      // Another caller may have seen a newer row than this one brought along.
      if (entry.seen !== versionOf(row)) void look([row.id]);
      entry.listeners.add(listener);
      size++;
      return () => {
        if (entry.listeners.delete(listener)) size--;
        if (entry.listeners.size === 0 && watched.get(row.id) === entry) watched.delete(row.id);
      };
    },
    size: () => size,
    close() {
      off();
      clearInterval(timer);
    },
  };
}

function versionOf(row: StatusRow): string {
  return row.progress === null ? row.status : `${row.status} ${JSON.stringify(row.progress)}`;
}
