import { noteMax } from '../../core/account/booking.ts';
import * as unknownOutcomes from '../../db/requests/unknown-outcomes.ts';
import { bookCosts, type OutcomeId } from '../../db/accounts/revenue.ts';
import type { Database, Transaction } from '../../lib/sql/sql.ts';
import { demandLine } from '../line.ts';
import { Refusal } from '../refusal.ts';
import type { ActionResult, Author } from '../operator-action.ts';

/** Failure codes after which we do not know whether the upstream charged us. */
const inDoubt = new Set<string | null>(['outcome_unknown', 'timeout']);
/** Maximum number of outcomes in one transaction, which takes a few seconds for so many. */
export const resolvedMax = 50_000;

/** An operator's finding: the true outcome of requests or starts whose outcome was unknown. */
export interface Finding {
  outcome: 'ran' | 'did_not_run';
  /** The upstream's charge for each outcome; 0 if it did not run. */
  cost: bigint;
  note: string | null;
}

/**
 * Records once what the operator paid for the unknown outcome of a request, or of one of its starts
 * that was lost before the next route was called. The customer's charge does not change. Null:
 * there is no such request or start.
 */
export function resolveOutcome(
  db: Database,
  by: Author,
  of: OutcomeId,
  given: Finding,
): Promise<ActionResult<{ account_id: string } | null>> {
  return db.tx(async (tx) => {
    const finding = checkFinding(given);
    const row = await (of.attempt === 0
      ? findEnded(tx, of.request_id)
      : unknownOutcomes.findLeft(tx, of));
    if (row === null) return { answer: null, unlogged: true };
    if ((await book(tx, by, [of], finding)) === 0)
      throw new Refusal('The cost of this request is already booked and can be booked only once.', {
        reason: 'cost_booked',
      });
    const { account_id } = row;
    const details = { ...(of.attempt > 0 && { attempt: of.attempt }), ...detailsOf(finding) };
    return { answer: { account_id }, account_id, target: of.request_id, details };
  });
}

async function findEnded(tx: Transaction, request_id: string) {
  const row = await unknownOutcomes.findEnded(tx, request_id);
  if (row === null) return null;
  if (!row.is_final)
    throw new Refusal(
      'The request has not ended: its answer may still come. Wait until it has ended.',
      { reason: 'request_open' },
    );
  if (!inDoubt.has(row.error_code))
    throw new Refusal('The outcome of this request is already known.', { reason: 'outcome_known' });
  return row;
}

/**
 * Resolves all unresolved outcomes of a selection, at most the newest `resolvedMax`. Resolved
 * outcomes do not change. Returns the number resolved, and whether no unresolved outcome is left.
 */
export function resolveOutcomes(
  db: Database,
  by: Author,
  selected: unknownOutcomes.Selection,
  given: Finding,
): Promise<ActionResult<{ resolved: number; is_all: boolean }>> {
  return db.tx(async (tx) => {
    const finding = checkFinding(given);
    const page = { ...selected, below: null, limit: resolvedMax + 1 };
    const found = await unknownOutcomes.listUnresolved(tx, page);
    const resolved = await book(tx, by, found.slice(0, resolvedMax), finding);
    const { upstream: target, since, until, model } = selected;
    const which = { since, ...(until && { until }), ...(model && { model }) };
    const details = { ...which, resolved, ...detailsOf(finding) };
    return { answer: { resolved, is_all: found.length <= resolvedMax }, target, details };
  });
}

function checkFinding({ outcome, cost, note }: Finding): Finding {
  if (outcome === 'did_not_run' && cost !== 0n)
    throw new Refusal('A request that did not run cannot have a cost.', {
      reason: 'cost_without_run',
    });
  return { outcome, cost, note: note === null ? null : demandLine('note', note, noteMax) };
}

async function book(
  tx: Transaction,
  by: Author,
  outcomes: OutcomeId[],
  finding: Finding,
): Promise<number> {
  const { outcome, cost, note } = finding;
  const booked = await bookCosts(tx, outcomes, cost);
  const { person_id, email: by_email } = by;
  const found = { outcome, cost_usd_micro: cost, note, person_id, by_email };
  if (booked.length > 0) unknownOutcomes.insertMany(tx, booked, found);
  return booked.length;
}

function detailsOf({ outcome, cost, note }: Finding): Record<string, unknown> {
  return { outcome, cost_usd_micro: String(cost), ...(note !== null && { note }) };
}
