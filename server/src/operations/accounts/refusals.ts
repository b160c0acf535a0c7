import * as refusals from '../../db/accounts/refusals.ts';
import { newId } from '../../lib/id.ts';
import type { Database } from '../../lib/sql/sql.ts';

/** How often refusals are written, so that a refused call does not cause a write of its own. */
const writeEveryMs = 2_000;
/** Maximum number of pairs of key and code that are counted between two writes. */
const countsMax = 10_000;
/** Maximum number of calls that are kept between two writes, of all accounts. */
const callsMax = 10_000;

export type NewRefusal = Omit<refusals.RefusedCall, 'id' | 'created_at'>;

export interface Refusals {
  /** Notes a refused call, if its caller can fix the cause. Does not wait. */
  note(refused: NewRefusal): void;
  /** Writes what was noted now. */
  flush(): Promise<void>;
}

/** Counts refused calls by key and code, keeps the first of each hour, and writes them together. */
export function openRefusals(db: Database, onError: (err: unknown) => void): Refusals {
  let counts = new Map<string, refusals.RefusedCount>();
  let calls: refusals.RefusedCall[] = [];
  /** How many calls of an account and code wait to be written. */
  let waiting = new Map<string, number>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = async () => {
    clearTimeout(timer);
    timer = undefined;
    if (counts.size === 0) return;
    const [dueCounts, dueCalls] = [[...counts.values()], calls];
    [counts, calls, waiting] = [new Map(), [], new Map()];
    try {
      await refusals.count(db, dueCounts);
      if (dueCalls.length > 0) await db.tx((tx) => refusals.keep(tx, dueCalls));
    } catch (error) {
      // Refusals are only shown to people, so a failed write is just reported.
      onError(error);
    }
  };

  const note: Refusals['note'] = (refused) => {
    const { account_id, key_id, code, status } = refused;
    if (status < 400 || status > 499) return;
    timer ??= setTimeout(() => void flush(), writeEveryMs).unref();
    const name = `${key_id} ${code}`;
    const count = counts.get(name);
    if (count) count.calls++;
    else if (counts.size < countsMax) counts.set(name, { account_id, key_id, code, calls: 1 });
    else return;
    const kind = `${account_id} ${code}`;
    const already = waiting.get(kind) ?? 0;
    if (already >= refusals.listedMax || calls.length >= callsMax) return;
    waiting.set(kind, already + 1);
    calls.push({ ...refused, id: newId(), created_at: new Date() });
  };
  return { note, flush };
}
