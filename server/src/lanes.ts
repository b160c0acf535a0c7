import { ceilings, type Config } from './config.ts';
import { ApiError } from './core/errors.ts';
import type { Ending, Moving, Transition } from './core/request.ts';
import type { Hints } from './db/hints.ts';
import type { Happenings } from './happenings.ts';
import { authenticateMany } from './db/keys.ts';
import * as requests from './db/requests.ts';
import { batch, type BatchOptions } from './lib/batch.ts';
import type { Metrics } from './lib/metrics.ts';
import { persistent, type Persist } from './lib/persistent.ts';
import { isDataError, isUnavailable, type Database } from './lib/sql.ts';
import { moveMany } from './operations/advance.ts';
import type { Submit, Submitted } from './operations/submit.ts';
import { takeTurn } from './operations/turn.ts';

/** Between two tries of a database that is away. */
const pauseMs = 100;
const dark =
  'The database does not answer, so it is not known whether this was taken or charged. Repeat it only with the Idempotency-Key it had; without one look at GET /v1/requests first.';

/** Bounds of every batch, in place of each lane's own. */
export interface BatchBounds {
  max: number;
  concurrency: number;
}

export interface LaneDeps {
  db: Database;
  hints: Hints;
  metrics: Metrics;
  config: Config;
  happenings: Happenings;
  bounds?: BatchBounds | undefined;
}

export type Lanes = ReturnType<typeof openLanes>;

/** The batched, singular forms of the hot paths. */
export function openLanes({ db, hints, metrics, config, happenings, bounds }: LaneDeps) {
  const lane = <T, R>(
    name: string,
    many: (items: T[]) => Promise<(R | Error)[]>,
    options: BatchOptions,
  ) =>
    batch<T, R>(
      (items) => {
        metrics.batchSize.observe({ batch: name }, items.length);
        return many(items);
      },
      { split: isDataError, ...options, ...bounds },
    );
  const books = lane('books', turn(db, persistence(config)), { max: 128 });
  const move = lane('move', moves(db, persistence(config)), { max: 256 });
  const calledBack = lane('called_back', callBack(db), { max: 256 });

  async function end(ending: Ending): Promise<boolean> {
    const ended = (await books(ending)) as boolean;
    if (!ended) return fenced(ending);
    happenings.ended(ending);
    hints.changed([ending.id]);
    // Its place at the upstream is free.
    hints.work();
    return true;
  }
  async function moveOne(moving: Moving): Promise<boolean> {
    if (!(await move(moving))) return fenced(moving);
    if (shows(moving)) hints.changed([moving.id]);
    if (moving.to === 'notified') happenings.notified(moving);
    return true;
  }
  function fenced(transition: Transition): false {
    if (transition.attempt !== null) metrics.fencedWrites.inc({ to: transition.to });
    return false;
  }
  return {
    calledBack: async (call: requests.CalledBack) => {
      if (await calledBack(call)) hints.work();
    },
    authenticate: lane(
      'authenticate',
      (hashes: Buffer[]) =>
        authenticateMany(db, hashes, { key: config.FAREBOX_RPM, account: ceilings(config).rpm }),
      { max: 256 },
    ),
    status: lane(
      'status',
      byId((ids) => requests.findMany(db, ids)),
      { max: 256 },
    ),
    card: lane(
      'card',
      byId((ids) => requests.findCards(db, ids)),
      { max: 64 },
    ),
    submit: async (wanted: Submit) => {
      const submitted = (await books(wanted)) as Submitted;
      if (submitted.replayed) return submitted;
      hints.created([submitted.request_id]);
      if (wanted.row.call_seconds === null) hints.work();
      return submitted;
    },
    end,
    advance: (transition: Transition) =>
      transition.to === 'COMPLETED' || transition.to === 'FAILED' || transition.to === 'CANCELLED'
        ? end(transition)
        : moveOne(transition),
  };
}

/** True for what callers or pages are shown of. */
function shows(moving: Moving): boolean {
  if (moving.to === 'wait') return moving.progress !== null;
  return moving.to === 'begin' || moving.to === 'notified';
}

/**
 * A write whose answer was lost is made again for as long as a lease lasts: to give up at once
 * would leave in the dark what was reserved and charged, or lose the handle of a job that is paid
 * for.
 */
function persistence({ FAREBOX_LEASE_SECONDS: seconds }: Config): Persist {
  return persistent({ isPassing: isUnavailable, patienceMs: seconds * 1000, pauseMs });
}

function moves(db: Database, persist: Persist) {
  return (members: Moving[]): Promise<boolean[]> =>
    persist((isRepeat) => moveMany(db, members, { isRepeat }));
}

/** Submits and endings as they came, in one turn of the books. */
function turn(db: Database, persist: Persist) {
  const inTheDark = (cause: unknown) => {
    if (!isUnavailable(cause)) throw cause;
    // Stock clients repeat a 503 by themselves, and this may have been charged.
    const headers = { 'x-should-retry': 'false' };
    throw new ApiError('capacity_unavailable', { message: dark, headers, cause });
  };
  return async (members: (Submit | Ending)[]): Promise<(Submitted | boolean | Error)[]> => {
    const submits = members.filter((member): member is Submit => 'row' in member);
    const endings = members.filter((member): member is Ending => !('row' in member));
    const { submitted, ended } = await persist((isRepeat) =>
      takeTurn(db, submits, endings, { isRepeat }),
    ).catch(inTheDark);
    const verdicts = { submit: submitted.values(), end: ended.values() };
    return members.map((member) => verdicts['row' in member ? 'submit' : 'end'].next().value!);
  };
}

/** True for those that are due now. */
function callBack(db: Database) {
  return async (calls: requests.CalledBack[]): Promise<boolean[]> => {
    const due = new Set((await requests.calledBackMany(db, calls)).map(({ id }) => id));
    return calls.map(({ request_id }) => due.has(request_id));
  };
}

/** A row for each id, in order; null where there is none. */
function byId<Row extends { id: string }>(find: (ids: string[]) => Promise<Row[]>) {
  return async (ids: string[]): Promise<(Row | null)[]> => {
    const rows = new Map((await find([...new Set(ids)])).map((row) => [row.id, row]));
    return ids.map((id) => rows.get(id) ?? null);
  };
}
