import type { EndTransition, Status } from '../../core/request/request.ts';
import { findMany } from '../../db/requests/requests.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { ActionResult } from '../operator-action.ts';
import { endMany } from './settle.ts';

export interface Cancellation {
  /** True if the request was waiting and has now been cancelled. */
  isCancelled: boolean;
  status: Status;
  ending: EndTransition;
  done: ActionResult<{ request_id: string; status: Status }>;
}

/**
 * Cancels a waiting request, as its caller could; nothing is charged. A running or ended request
 * does not change. Null: there is no such request.
 */
export async function cancelRequest(db: Database, id: string): Promise<Cancellation | null> {
  const [row] = await findMany(db, [id]);
  if (!row) return null;
  const { account_id, key_id, model_id, upstream } = row;
  const opens_job = row.kind !== 'text';
  const of = { account_id, key_id, model_id, upstream, opens_job };
  const ending = { id, attempt: null, ...of, to: 'CANCELLED' } as const;
  const [ended] = await endMany(db, [ending]);
  if (ended instanceof Error) throw ended;
  const now: Status = ended ? 'CANCELLED' : (await findMany(db, [id]))[0]!.status;
  const answer = { request_id: id, status: now };
  const done = { answer, account_id, target: id, details: { model_id, upstream } };
  return { isCancelled: ended!, status: now, ending, done };
}
