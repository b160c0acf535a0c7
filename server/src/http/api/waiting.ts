import { ApiError } from '../../core/errors.ts';
import { isFinal, type Status } from '../../core/request/request.ts';
import type { StatusRow } from '../../db/requests/requests.ts';
import type { HttpDeps, KeyedRequest, RequestDeps, StreamDeps } from '../deps.ts';
import { hold, mayHold } from '../event-streams.ts';
import { accessOver } from '../stream-grants.ts';

/** Calls that are held until a request has changed. */

interface Patience {
  waitSeconds: number;
  /** True: the wait ends at a final status. False: it ends at any new status. */
  toTheEnd: boolean;
  /** Fires when the key or person loses access. */
  over: AbortSignal;
  /**
   * Ends the wait when this process stops: `draining`, or the later `cutoff` if the caller has no
   * id to poll.
   */
  stop: AbortSignal;
}

/**
 * Does the work in one of the account's slots for streams and waiting calls; the signal fires when
 * the key or person loses access. Throws `rate_limited` or `capacity_unavailable` before the work
 * begins.
 */
export async function withWaitingShare<T>(
  req: KeyedRequest,
  deps: StreamDeps,
  work: (over: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const leave = hold(req.grant, deps, () => over.abort());
  try {
    return await work(over.signal);
  } finally {
    leave();
  }
}

/**
 * Resolves with the row once its status has changed (with `toTheEnd`: once it is final), or with
 * the newest row when the time is over or the caller has left. Throws `unauthorized` or `forbidden`
 * if the key or person loses access meanwhile.
 */
export function waitForChange(
  row: StatusRow,
  { waitSeconds, toTheEnd, over, stop }: Patience,
  req: KeyedRequest,
  deps: StreamDeps,
): Promise<StatusRow> {
  return new Promise((resolve, reject) => {
    let newest = row;
    const lostAccess = () => {
      reject(accessOver(req.grant));
      done();
    };
    over.addEventListener('abort', lostAccess);
    req.yieldSlot();
    const unwatch = deps.requestEvents.watch(row, (newer) => {
      newest = newer;
      if (toTheEnd ? isFinal(newer.status) : newer.status !== row.status) done();
    });
    const timer = setTimeout(done, waitSeconds * 1000);
    req.raw.once('close', done);
    stop.addEventListener('abort', done);
    if (over.aborted) lostAccess();
    if (stop.aborted) done();
    function done(): void {
      clearTimeout(timer);
      unwatch();
      over.removeEventListener('abort', lostAccess);
      req.raw.removeListener('close', done);
      stop.removeEventListener('abort', done);
      resolve(newest);
    }
  });
}

/**
 * The status of a request that was just submitted, once it is final or the time is over; null
 * without a wait. Does not throw: its caller must get at least the id.
 */
export async function waitForEndWithin(
  waitSeconds: number,
  requestId: string,
  req: KeyedRequest,
  deps: HttpDeps,
): Promise<Status | null> {
  if (waitSeconds === 0 || !mayHold(req.grant, deps)) return null;
  try {
    const patience = { waitSeconds, stop: deps.draining };
    const { status } = await withWaitingShare(req, deps, (over) =>
      waitForEnd(requestId, { ...patience, over }, req, deps),
    );
    return status;
  } catch (error) {
    if (!(error instanceof ApiError))
      deps.log.warn({ err: error, request_id: requestId }, 'could not wait for a request');
    return null;
  }
}

/** The row of a request that was just submitted, once it is final or the time is over. */
export async function waitForEnd(
  requestId: string,
  patience: Omit<Patience, 'toTheEnd'>,
  req: KeyedRequest,
  deps: StreamDeps & RequestDeps,
): Promise<StatusRow> {
  const row = await deps.operations.status(requestId);
  if (row === null) throw new ApiError('not_found');
  return isFinal(row.status) ? row : waitForChange(row, { ...patience, toTheEnd: true }, req, deps);
}
