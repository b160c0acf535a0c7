import type { CancelRule } from '../../core/catalog/catalog.ts';
import type { EndTransition, Status } from '../../core/request/request.ts';
import { askCancel } from '../../db/requests/request-steps.ts';
import { findMany, type StatusRow } from '../../db/requests/requests.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { ActionResult } from '../operator-action.ts';
import { endMany } from './settle.ts';

export interface Cancellation {
  /** True if the request was waiting and has now been cancelled. */
  isCancelled: boolean;
  /** Set if it runs and is asked to stop: when that was first asked. */
  cancel_requested_at: Date | null;
  status: Status;
  ending: EndTransition;
  done: ActionResult<{ request_id: string; status: Status; cancel_requested_at?: Date }>;
}

/** The end of a request that waits, by a cancel. */
export function cancelOf(row: StatusRow): EndTransition {
  const { id, account_id, key_id, model_id, upstream } = row;
  const opens_job = row.kind !== 'text';
  const of = { account_id, key_id, model_id, upstream, opens_job };
  return { id, attempt: null, ...of, to: 'CANCELLED' };
}

/**
 * Cancels a request as its caller could: one that waits, free of charge; one that runs if `ruleOf`
 * its model gives a rule. Others do not change. Null: there is no such request.
 */
export async function cancelRequest(
  db: Database,
  id: string,
  ruleOf: (model_id: string) => CancelRule | undefined = () => undefined,
): Promise<Cancellation | null> {
  const [row] = await findMany(db, [id]);
  if (!row) return null;
  const { account_id, model_id, upstream } = row;
  const ending = cancelOf(row);
  const [ended] = await endMany(db, [ending]);
  if (ended instanceof Error) throw ended;
  const rule = ended ? undefined : ruleOf(model_id);
  const asked = rule ? await askCancel(db, id, rule) : null;
  const cancel_requested_at = asked?.cancel_requested_at ?? null;
  const status: Status = ended ? 'CANCELLED' : (await findMany(db, [id]))[0]!.status;
  const answer = { request_id: id, status, ...(cancel_requested_at && { cancel_requested_at }) };
  const details = { model_id, upstream, ...(asked && { running: true }) };
  const done = { answer, account_id, target: id, details };
  return { isCancelled: ended!, cancel_requested_at, status, ending, done };
}
