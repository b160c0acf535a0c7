import * as refusals from '../../db/accounts/refusals.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { Database } from '../../lib/sql/sql.ts';

/** How often counts are written, so that a refused call does not cause a write of its own. */
const writeEveryMs = 2_000;
/** How often old counts are deleted. */
const forgetEveryMs = 600_000;
/** Maximum number of pairs of key and code that are counted between two writes. */
const countsMax = 10_000;

/** Only errors that a customer can fix: key, balance, rate or input. */
const shownStatuses = new Set([400, 402, 403, 429]);

interface Refused {
  status: number;
  code: ErrorCode;
}

export interface Refusals {
  /** Counts a refused call, if the customer can fix its cause. */
  note(caller: { account_id: string; key_id: string }, refused: Refused): void;
  /** Writes the counts now. */
  flush(): Promise<void>;
}

/** Counts refused calls by key and code, and writes them together. */
export function openRefusals(db: Database, onError: (err: unknown) => void): Refusals {
  let counts = new Map<string, refusals.RefusedCalls>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let forgottenAt = -Infinity;

  const flush = async () => {
    clearTimeout(timer);
    timer = undefined;
    if (counts.size === 0) return;
    const due = [...counts.values()];
    counts = new Map();
    try {
      await refusals.add(db, due);
      if (performance.now() - forgottenAt < forgetEveryMs) return;
      forgottenAt = performance.now();
      await refusals.forget(db);
    } catch (error) {
      // The counts are only shown to people, so a failed write is just reported.
      onError(error);
    }
  };

  const note: Refusals['note'] = ({ account_id, key_id }, { status, code }) => {
    if (!shownStatuses.has(status)) return;
    const name = JSON.stringify([key_id, code]);
    const count = counts.get(name);
    if (count) count.calls++;
    else if (counts.size < countsMax) counts.set(name, { account_id, key_id, code, calls: 1 });
    timer ??= setTimeout(() => void flush(), writeEveryMs).unref();
  };
  return { note, flush };
}
