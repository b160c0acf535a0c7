import * as deliveries from '../../db/requests/deliveries.ts';
import * as operatorEvents from '../../db/operator-events.ts';
import * as files from '../../db/accounts/files.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as refusals from '../../db/accounts/refusals.ts';
import * as requests from '../../db/requests/requests.ts';
import { expireBonuses } from '../../operations/accounts/bonus.ts';
import { eraseRequests } from '../../operations/accounts/erase-person.ts';
import type { SpoolWatch } from '../spooled.ts';
import type { StepDeps } from '../step.ts';

/** Rows per batch. */
const limit = 500;
/**
 * For this long a claimed file is left to the process that removes it, whose batch may take that
 * long. A file that could not be removed is tried again after this time.
 */
const putOffSeconds = 3600;
/** Days that events to the operator are kept. */
const eventDays = 30;
/** Days that invitations are kept after their end. */
const invitationDays = 30;

export interface SweepDeps extends Pick<StepDeps, 'db' | 'log' | 'storage' | 'spool' | 'settings'> {
  /** False while nothing may be removed, for example on a restored copy. */
  mayWork: () => boolean;
}

/**
 * Ends bonuses whose time is over and deletes what has expired: files, spooled results, idempotency
 * keys, payloads of old requests, content of requests of erased people, and refused calls.
 */
export async function sweep(
  deps: SweepDeps,
  spooled: SpoolWatch,
  isStopping: () => boolean,
): Promise<void> {
  const { db, log, mayWork } = deps;
  const { FAREBOX_RETENTION_DAYS: retentionDays } = deps.settings;
  /** Repeats as long as batches are full, until stopped. */
  const inBatches = async (run: () => Promise<number>): Promise<void> => {
    while (!isStopping() && (await run()) === limit);
  };
  if (!mayWork()) return;
  const failures: unknown[] = [];
  await inBatches(() => sweepFiles(deps, failures, isStopping));
  if (failures.length > 0) {
    const what = { count: failures.length, err: failures[0] };
    log.warn(what, 'expired files could not be removed, will be tried again');
  }
  await sweepSpool(deps, spooled);
  await inBatches(() => expireBonuses(db, limit));
  await inBatches(() => requests.clearPayloads(db, retentionDays, limit));
  // Payloads take their keys along.
  await inBatches(() => requests.forgetKeys(db, retentionDays, limit));
  await inBatches(() => deliveries.clear(db, retentionDays, limit));
  await inBatches(() => operatorEvents.clear(db, eventDays, limit));
  await inBatches(() => invitations.clear(db, invitationDays, limit));
  await inBatches(() => refusals.clear(db, limit));
  await eraseRequests(db, limit, isStopping);
}

/** Removes the bytes before the row, because without their row they could not be found again. */
async function sweepFiles(
  { db, storage }: SweepDeps,
  failures: unknown[],
  isStopping: () => boolean,
): Promise<number> {
  const claimed = await files.claimExpired(db, limit, putOffSeconds);
  const removed: string[] = [];
  for (const { id, storage_key } of claimed) {
    if (isStopping()) break;
    try {
      await storage.remove(storage_key);
      removed.push(id);
    } catch (error) {
      failures.push(error);
    }
  }
  await files.removeMany(db, removed);
  return claimed.length;
}

/** Removes spooled results of requests that were given up or finished by another worker. */
async function sweepSpool({ db, spool }: SweepDeps, spooled: SpoolWatch): Promise<void> {
  const ids = spool.ids();
  if (ids.length === 0) return;
  const open = new Set((await requests.findStillOpen(db, ids)).map(({ id }) => id));
  for (const id of ids) if (!open.has(id)) await spooled.remove(id);
}
