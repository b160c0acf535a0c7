import type { EndTransition } from '../../core/request/request.ts';
import * as snapshot from '../../db/snapshot.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { endMany } from './settle.ts';

const releaseLimit = 500;

/**
 * Ends all open requests: queued requests are cancelled, running requests fail. Each reservation is
 * released. Returns the number of ended requests.
 */
export async function releaseOpen(db: Database): Promise<number> {
  for (let released = 0; ;) {
    const open = await snapshot.openRequests(db, releaseLimit);
    if (open.length === 0) return released;
    const verdicts = await endMany(db, open.map(endingOf));
    const cause = verdicts.find((verdict) => verdict !== true);
    if (cause !== undefined) throw new Error('an open request could not be ended', { cause });
    released += open.length;
  }
}

function endingOf({
  id,
  account_id,
  key_id,
  kind,
  status,
  attempt,
}: snapshot.OpenRequest): EndTransition {
  const base = { id, account_id, key_id, opens_job: kind !== 'text' };
  if (status === 'IN_QUEUE') return { ...base, attempt: null, to: 'CANCELLED' };
  const message = 'The service was moved or restored while this request ran. Nothing was charged.';
  return { ...base, attempt, to: 'FAILED', code: 'outcome_unknown', message, cost_usd_micro: null };
}
