import type { NewEvent } from '../core/operator-event.ts';
import * as chains from '../db/deposits/chains.ts';
import * as operatorEvents from '../db/operator-events.ts';
import { listUnresolved } from '../db/requests/unknown-outcomes.ts';
import { throttleLog } from '../lib/log-throttle.ts';
import type { Database } from '../lib/sql/sql.ts';
import type { ActionResult } from './operator-action.ts';
import { Refusal } from './refusal.ts';

/**
 * Events to the operator about pauses, full disks, chains and unknown outcomes. Audits,
 * deposits, new accounts and low balances write their events in their own transactions.
 */

/** A pause or a full disk is announced once in this time, however often it ends and begins. */
const quietSeconds = 3600;
/** After an event about unknown outcomes, the outcomes of this time share the next event. */
const bundleSeconds = 600;
const namedMax = 20;
/** Maximum number of outcomes that an event counts. */
const countMax = 1000;

/** Writes an event without delaying the caller; an error is only logged. */
export type ReportEvent = (event: NewEvent, subject: string) => void;

export function openReports(
  db: Database,
  log: { warn(fields: object, message: string): void },
): ReportEvent {
  const warn = throttleLog((told) =>
    log.warn(told, 'an event to the operator could not be written'),
  );
  return (event, subject) =>
    void operatorEvents.addOnce(db, event, subject, quietSeconds).catch(warn);
}

/** Records a failed read of a chain. Writes an event if the failure stops the reading. */
export async function noteFailedRead(
  db: Database,
  claim: Pick<chains.ChainClaim, 'name' | 'attempt'>,
  failure: chains.ReadFailure,
): Promise<void> {
  const { name: chain } = claim;
  const { stopped_why: why } = failure;
  await db.tx(async (tx) => {
    const isNoted = await chains.noteFailure(tx, claim, failure);
    if (!isNoted || why === null) return;
    const event = { type: 'chain.stopped', account_id: null, data: { chain, why } } as const;
    await operatorEvents.addMany(tx, [event]);
  });
}

/** Writes one event about the unknown outcomes that no event has named, if there are any. */
export async function bundleUnknown(db: Database): Promise<void> {
  await db.tx(async (tx) => {
    await operatorEvents.lockSubjects(tx);
    const period = await operatorEvents.findUnannounced(tx, bundleSeconds);
    if (period === null) return;
    const page = { upstream: null, below: null, limit: countMax };
    const found = await listUnresolved(tx, { ...page, ...period });
    if (found.length === 0) return;
    const data = {
      count: found.length,
      request_ids: found.slice(0, namedMax).map(({ request_id }) => request_id),
      since: period.since.toISOString(),
      until: period.until.toISOString(),
    };
    await operatorEvents.addMany(tx, [{ type: 'outcome.unknown', account_id: null, data }]);
  });
}

/** Sends an event again, whether it was sent or given up. Throws `Refusal` if it is unknown. */
export async function resendEvent(
  db: Database,
  id: string | null,
): Promise<ActionResult<{ event_id: string }>> {
  if (id === null || !(await operatorEvents.resend(db, id)))
    throw new Refusal('There is no event with this id. Events are deleted after 30 days.', {
      reason: 'event_unknown',
    });
  return { answer: { event_id: id }, target: id };
}
