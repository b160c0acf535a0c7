import type { ApiError } from '../../core/errors.ts';
import type { EndTransition } from '../../core/request/request.ts';
import * as requests from '../../db/requests/requests.ts';
import * as endedRequests from '../../db/requests/ended-requests.ts';
import { openBooks, writeBooks } from '../../ledger/ledger.ts';
import { openUsage, writeUsage } from '../../ledger/usage.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { decideEndings } from './advance.ts';
import { decideSubmits, type Submit, type SubmitResult } from './admit.ts';

export interface BatchResult {
  /** A verdict for each submit, in order. */
  submitted: (SubmitResult | ApiError)[];
  /** When each request ended; null: another attempt was faster; an error: it cannot be written. */
  ended: (Date | null | Error)[];
}

/**
 * Writes any number of submits and endings, with their rows and money, in one transaction, because
 * all writes of an account need the same lock. A batch whose answer was lost may have been written;
 * its repeat finds the rows already written and gives the same answers.
 */
export function settleBatch(
  db: Database,
  submits: Submit[],
  endings: EndTransition[],
  { isRepeat = false } = {},
): Promise<BatchResult> {
  return db.tx(async (tx) => {
    const members = [...submits.map(({ row }) => row), ...endings];
    const keyed = submits.flatMap(({ row }) => (row.idempotency_key === null ? [] : [row]));
    // These queries are sent one after the other and answered in one round trip. The account's lock
    // also orders submits with the same Idempotency-Key, so the look-up after it misses none.
    const [books, usage, earlier, rows, own] = await Promise.all([
      openBooks(
        tx,
        members.map((member) => member.account_id),
      ),
      openUsage(
        tx,
        members.map((member) => member.key_id),
      ),
      keyed.length === 0 ? [] : requests.findEarlier(tx, keyed),
      endings.length === 0
        ? []
        : endedRequests.lockMany(
            tx,
            endings.map((ending) => ending.id),
          ),
      isRepeat
        ? requests.findMany(
            tx,
            submits.map(({ row }) => row.id),
          )
        : [],
    ]);
    const ends: endedRequests.EndedRequest[] = [];
    const accepted: requests.NewRequest[] = [];
    // Endings come first: a submit of the same batch may spend the money that an ending returns.
    const ended = decideEndings(endings, books, usage, rows, ends, { isRepeat });
    const known = { earlier, own: new Set(own.map(({ id }) => id)) };
    const submitted = decideSubmits(submits, books, usage, known, accepted);
    if (ends.length > 0) endedRequests.endMany(tx, ends);
    if (accepted.length > 0) requests.insertMany(tx, accepted);
    writeBooks(tx, books);
    writeUsage(tx, usage);
    return { submitted, ended };
  });
}

/** True for each request that was ended. */
export async function endMany(
  db: Database,
  endings: EndTransition[],
): Promise<(boolean | Error)[]> {
  const { ended } = await settleBatch(db, [], endings);
  return ended.map((verdict) => (verdict instanceof Error ? verdict : verdict !== null));
}
