import * as resolutions from '../db/resolutions.ts';
import { bookCost } from '../db/revenue.ts';
import type { Database } from '../lib/sql.ts';
import { Refused } from './account.ts';
import type { Operator } from './act.ts';

/** Of a request that ended so it may not be known what it cost. */
const inDoubt = new Set<string | null>(['outcome_unknown', 'timeout']);

/** What an operator found out about a request whose outcome was unknown. */
export interface Finding {
  request_id: string;
  outcome: 'ran' | 'did_not_run';
  /** What the upstream took; 0 where it did not run. */
  cost: bigint;
  note: string | null;
}

/**
 * Books what the request cost the operator, once. What the customer paid stays: nothing. Null:
 * there is no such request.
 */
export function resolveOutcome(
  db: Database,
  by: Operator,
  { request_id, outcome, cost, note }: Finding,
): Promise<{ account_id: string } | null> {
  return db.tx(async (tx) => {
    const row = await resolutions.findEnded(tx, request_id);
    if (row === null) return null;
    if (!row.is_final)
      throw new Refused('The request has not ended: its answer may still come. Wait until it has.');
    if (!inDoubt.has(row.error_code)) throw new Refused('The outcome of this request is known.');
    if (!(await bookCost(tx, request_id, cost)))
      throw new Refused('What this request cost is booked already. It is booked once.');
    const { account_id } = row;
    const { person_id, email: by_email } = by;
    const found = { request_id, account_id, outcome, cost_usd_micro: cost, note };
    resolutions.insert(tx, { ...found, person_id, by_email });
    return { account_id };
  });
}
