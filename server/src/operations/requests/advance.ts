import type { EndTransition, MoveTransition } from '../../core/request/request.ts';
import * as endedRequests from '../../db/requests/ended-requests.ts';
import * as requestSteps from '../../db/requests/request-steps.ts';
import { newId } from '../../lib/id.ts';
import { storableJson, storableText } from '../../lib/json.ts';
import type { Books } from '../../ledger/ledger.ts';
import type { KeyUsage } from '../../ledger/usage.ts';
import type { Database } from '../../lib/sql/sql.ts';

/**
 * All transitions of requests are written here. Every write names the attempt that decided it. If
 * the request was claimed again, cancelled or ended meanwhile, the write changes nothing and
 * returns false.
 */

/**
 * Writes transitions without money; the results are in order. `isRepeat`: an earlier try may have
 * been written, but its answer was lost.
 */
export async function moveMany(
  db: Database,
  moves: MoveTransition[],
  { isRepeat = false } = {},
): Promise<boolean[]> {
  const only = <To extends MoveTransition['to']>(to: To) =>
    moves.filter((move): move is Extract<MoveTransition, { to: To }> => move.to === to);
  const run = async <To extends MoveTransition['to']>(
    to: To,
    write: (
      db: Database,
      moves: Extract<MoveTransition, { to: To }>[],
    ) => Promise<{ id: string }[]>,
  ): Promise<MoveTransition[]> => {
    const wanted = only(to);
    if (wanted.length === 0) return [];
    const written = new Set((await write(db, wanted)).map(({ id }) => id));
    return wanted.filter(({ id }) => written.has(id));
  };
  const ended = await Promise.allSettled([
    run('begin', (on, begins) => requestSteps.beginMany(on, begins, isRepeat)),
    run('accepted', (on, accepts) => requestSteps.acceptMany(on, accepts, isRepeat)),
    run('wait', (on, waits) => requestSteps.waitMany(on, waits, isRepeat)),
    run('requeue', requestSteps.requeueMany),
    run('notified', requestSteps.endNotifyMany),
    run('expired', requestSteps.endExpireMany),
    run('idle', requestSteps.endIdleMany),
  ]);
  // All writes have finished by now, so a failed one can be repeated safely.
  const moved = new Set(ended.flatMap(valueOf));
  return moves.map((move) => moved.has(move));
}

function valueOf<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

/**
 * Decides on endings of locked requests: the time of the end if it takes effect, null if another
 * attempt was faster, an error for an impossible charge or an output that cannot be written. Rows
 * to write are added to `toWrite`. A repeat also returns the time if an earlier try, whose answer
 * was lost, ended the request.
 */
export function decideEndings(
  endings: EndTransition[],
  books: Books,
  usage: KeyUsage,
  rows: endedRequests.LockedRequest[],
  toWrite: endedRequests.EndedRequest[],
  { isRepeat = false } = {},
): (Date | null | Error)[] {
  const locked = new Map(rows.map((row) => [row.id, row]));
  return endings.map((ending) => {
    const { account_id, key_id, opens_job } = ending;
    const row = locked.get(ending.id);
    if (!row) return null;
    // guard: lost-commit-end
    if (isRepeat && hasEnded(ending, row)) return row.ended_at;
    if (!mayEnd(ending, row)) return null;
    const { id: request_id, quoted_usd_micro: reserved, month } = row;
    const charge = chargeOf(ending);
    // guard: wrong-charge-fails-alone
    if (charge !== null && (charge < 0n || charge > reserved))
      return new Error(`charge ${charge} outside the reservation ${reserved} of ${request_id}`);
    const written = writtenAs(ending);
    // Only this ending fails; the rest of the batch continues.
    if (written instanceof Error) return written;
    const closes_job = opens_job;
    books.settle({ id: newId(), request_id, account_id, reserved, charge, closes_job });
    usage.settle(key_id, month, reserved, charge ?? 0n, opens_job);
    toWrite.push(written);
    // So that a second ending of the same request in this batch returns null.
    // guard: one-end-in-a-batch
    locked.delete(ending.id);
    return row.ended_at;
  });
}

/** Null: the reservation is released. */
function chargeOf(ending: EndTransition): bigint | null {
  if (ending.to === 'COMPLETED') return ending.charge;
  const charge = ending.to === 'CANCELLED' ? (ending.stopped?.charge ?? 0n) : 0n;
  return charge === 0n ? null : charge;
}

function mayEnd(ending: EndTransition, row: endedRequests.LockedRequest): boolean {
  if (ending.attempt === null) {
    // guard: cancel-takes-what-waits (off: true)
    return row.status === 'IN_QUEUE';
  }
  // guard: own-attempt-ends
  if (row.attempt !== ending.attempt) return false;
  // guard: running-cancelled-on-request
  if (ending.to === 'CANCELLED' && row.on_cancel === null) return false;
  return row.status === 'IN_PROGRESS' || (row.status === 'IN_QUEUE' && ending.to === 'FAILED');
}

function hasEnded(ending: EndTransition, row: endedRequests.LockedRequest): boolean {
  const isSame = ending.attempt === null || ending.attempt === row.attempt;
  return isSame && row.status === ending.to;
}

function writtenAs(ending: EndTransition): endedRequests.EndedRequest | Error {
  try {
    return endOf(ending);
  } catch (error) {
    return new Error(`the end of ${ending.id} cannot be written`, { cause: error });
  }
}

function endOf(ending: EndTransition): endedRequests.EndedRequest {
  const { id, account_id, to: status, upstream = null } = ending;
  const empty = {
    error_code: null,
    error_message: null,
    error_details: null,
    error_cause: null,
    ttl_seconds: null,
    output: null,
    quantity: null,
    tokens: null,
  };
  const base = {
    id,
    account_id,
    status,
    upstream,
    charged_usd_micro: 0n,
    cost_usd_micro: null,
    outputs: [],
    has_result: ending.to !== 'CANCELLED' || ending.stopped !== undefined,
    // guard: failed-call-frees-key
    frees_key: ending.to === 'FAILED' && !ending.opens_job,
    ...empty,
  };
  if (ending.to === 'CANCELLED') {
    const { charge = 0n, ...billed } = ending.stopped ?? {};
    return { ...base, ...billed, charged_usd_micro: charge };
  }
  if (ending.to === 'FAILED') {
    const { message, cause = message } = ending;
    const error_message = storableText(message.slice(0, 2000));
    return {
      ...base,
      error_code: ending.code,
      error_message,
      error_details: ending.details === undefined ? null : storableJson(ending.details),
      error_cause: cause === message ? null : storableText(cause.slice(0, 2000)),
      cost_usd_micro: ending.cost_usd_micro,
    };
  }
  return {
    ...base,
    charged_usd_micro: ending.charge,
    ttl_seconds: ending.outputs.length > 0 ? ending.ttl_seconds : null,
    output: ending.output === null ? null : storableJson(ending.output),
    quantity: ending.quantity,
    tokens: ending.tokens ?? null,
    cost_usd_micro: ending.cost_usd_micro,
    outputs: ending.outputs,
  };
}
