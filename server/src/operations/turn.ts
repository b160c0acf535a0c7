import type { ApiError } from '../core/errors.ts';
import type { Ending } from '../core/request/request.ts';
import * as requests from '../db/requests.ts';
import { openBooks, writeBooks } from '../ledger/ledger.ts';
import { openUsage, writeUsage } from '../ledger/usage.ts';
import type { Database } from '../lib/sql.ts';
import { decideEndings } from './advance.ts';
import { decideSubmits, type Submit, type Submitted } from './admit.ts';

/**
 * A turn of the books: any number of submits and endings, their rows and their money in one
 * transaction. Beginnings and ends of one account wait for the same lock, so they take it together.
 * A turn whose answer was lost may have been written: as a repeat it finds what is its own, and
 * answers as the first would have.
 */
export interface Turn {
  /** A verdict for each, in order. */
  submitted: (Submitted | ApiError)[];
  /** True: it ended; false: it was overtaken; an error: what cannot be written. */
  ended: (boolean | Error)[];
}

export function takeTurn(
  db: Database,
  submits: Submit[],
  endings: Ending[],
  { isRepeat = false } = {},
): Promise<Turn> {
  return db.tx(async (tx) => {
    const members = [...submits.map(({ row }) => row), ...endings];
    const keyed = submits.flatMap(({ row }) => (row.idempotency_key === null ? [] : [row]));
    // One after the other on the wire, all answers in one round trip. The account's lock also
    // orders submits with the same Idempotency-Key, so the look-up behind it is exact.
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
        : requests.lockMany(
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
    const ends: requests.Ended[] = [];
    const accepted: requests.NewRequest[] = [];
    // What an end gives back, a submit of the same turn may spend.
    const ended = decideEndings(endings, books, usage, rows, ends, { isRepeat });
    const known = { earlier, own: new Set(own.map(({ id }) => id)) };
    const submitted = decideSubmits(submits, books, usage, known, accepted);
    if (ends.length > 0) requests.endMany(tx, ends);
    if (accepted.length > 0) requests.insertMany(tx, accepted);
    writeBooks(tx, books);
    writeUsage(tx, usage);
    return { submitted, ended };
  });
}

export async function submitMany(
  db: Database,
  submits: Submit[],
): Promise<(Submitted | ApiError)[]> {
  return (await takeTurn(db, submits, [])).submitted;
}

export async function endMany(db: Database, endings: Ending[]): Promise<(boolean | Error)[]> {
  return (await takeTurn(db, [], endings)).ended;
}
