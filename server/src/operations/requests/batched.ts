import type { CancelRule } from '../../core/catalog/catalog.ts';
import { ApiError } from '../../core/errors.ts';
import {
  isEnd,
  type EndTransition,
  type MoveTransition,
  type Transition,
} from '../../core/request/request.ts';
import type { Hints } from '../../db/hints.ts';
import {
  authenticateMany,
  type Caller,
  type LapsedKey,
  type Quotas,
} from '../../db/accounts/callers.ts';
import * as requests from '../../db/requests/requests.ts';
import * as requestSteps from '../../db/requests/request-steps.ts';
import { batch, type Batch, type BatchOptions } from '../../lib/batch.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { persistent, type Persister } from '../../lib/sql/persistent.ts';
import { isDataError, isUnavailable, type Database } from '../../lib/sql/sql.ts';
import type { Submit, SubmitResult } from './admit.ts';
import { moveMany } from './advance.ts';
import type { Recorder } from '../recorder.ts';
import { settleBatch, type BatchResult } from './settle.ts';

/**
 * Operations on single requests. Calls that arrive together share one statement or one transaction,
 * and each gets its own answer.
 */
export interface Operations {
  /** Accepts a request and reserves its price. Throws the `ApiError` that refuses it. */
  submit(submit: Submit): Promise<SubmitResult>;
  /**
   * Ends a request: its money and its status. Returns when it ended; null: another attempt ended or
   * claimed it first.
   */
  end(ending: EndTransition): Promise<Date | null>;
  /**
   * Notes that a running job is to be stopped, charged by this rule. Returns when that was first
   * asked; null if the request does not run.
   */
  askCancel(id: string, rule: CancelRule): Promise<Date | null>;
  /** Writes any transition. False: another attempt was faster. */
  advance(transition: Transition): Promise<boolean>;
  /** An upstream called back: the request's next poll is due. */
  calledBack(call: requestSteps.CalledBack): Promise<void>;
  /** The caller whose key has this SHA-256, or null. Counts the call against the key's limits. */
  authenticate(hash: Buffer): Promise<Caller | LapsedKey | null>;
  status(id: string): Promise<requests.StatusRow | null>;
  card(id: string): Promise<requests.CardRow | null>;
}

/** Replaces the usual bounds of every batch. */
export interface BatchBounds {
  max: number;
  concurrency: number;
}

export interface BatchDeps {
  db: Database;
  hints: Hints;
  metrics: Metrics;
  recorder: Recorder;
  /** Calls per minute for keys and accounts that have no limit of their own. */
  quotas: Quotas;
  leaseSeconds: number;
  bounds?: BatchBounds | undefined;
}

/** Pause between two tries while the database cannot be reached. */
const pauseMs = 100;
const dark =
  'The database does not answer, so it is unknown whether this call was accepted or charged. Repeat it only with the same Idempotency-Key; without one, check GET /v1/requests first.';

export function batchOperations(deps: BatchDeps): Operations {
  const { db, hints, recorder, metrics } = deps;
  const { settle, move, callBack, ...others } = openBatches(deps);

  async function submit(wanted: Submit): Promise<SubmitResult> {
    const { submitted } = await settle({ submits: [wanted], endings: [] });
    const verdict = submitted[0]!;
    if (verdict instanceof Error) throw verdict;
    if (verdict.replayed) return verdict;
    hints.tellCreated([verdict.request_id]);
    if (wanted.row.call_seconds === null) hints.work();
    return verdict;
  }
  async function end(ending: EndTransition): Promise<Date | null> {
    const { ended } = await settle({ submits: [], endings: [ending] });
    const verdict = ended[0]!;
    if (verdict instanceof Error) throw verdict;
    if (!verdict) {
      overtaken(ending);
      return null;
    }
    recorder.noteEnd(ending);
    hints.tellChanged([ending.id]);
    // Its slot at the upstream is free again, so a worker can start the next job.
    hints.work();
    return verdict;
  }
  async function moveOne(moving: MoveTransition): Promise<boolean> {
    if (!(await move(moving))) {
      overtaken(moving);
      return false;
    }
    if (shows(moving)) hints.tellChanged([moving.id]);
    if (moving.to === 'notified') recorder.noteWebhook(moving);
    return true;
  }
  function overtaken(transition: Transition): void {
    if (transition.attempt !== null) metrics.fencedWrites.inc({ to: transition.to });
  }
  return {
    submit,
    end,
    advance: async (transition) =>
      isEnd(transition) ? (await end(transition)) !== null : moveOne(transition),
    async askCancel(id, rule) {
      const asked = await requestSteps.askCancel(db, id, rule);
      if (asked?.is_new) {
        hints.tellChanged([id]);
        hints.work();
      }
      return asked?.cancel_requested_at ?? null;
    },
    calledBack: async (call) => {
      if (await callBack(call)) hints.work();
    },
    ...others,
  };
}

function openBatches(deps: BatchDeps) {
  const { db, quotas } = deps;
  const persist = persistence(deps.leaseSeconds);
  const batched = batchesOf(deps);
  return {
    settle: batched('books', (members: Member[]) => settleMany(db, persist, members), 128),
    move: batched('move', moves(db, persist), 256),
    callBack: batched('called_back', callBacks(db), 256),
    authenticate: batched(
      'authenticate',
      (hashes: Buffer[]) => authenticateMany(db, hashes, quotas),
      256,
    ),
    status: batched(
      'status',
      byId((ids) => requests.findMany(db, ids)),
      256,
    ),
    card: batched(
      'card',
      byId((ids) => requests.findCards(db, ids)),
      64,
    ),
  };
}

function batchesOf({ metrics, bounds }: Pick<BatchDeps, 'metrics' | 'bounds'>) {
  return <T, R>(
    name: string,
    many: (items: T[]) => Promise<(R | Error)[]>,
    max: BatchOptions['max'],
  ): Batch<T, R> =>
    batch<T, R>(
      (items) => {
        metrics.batchSize.observe({ batch: name }, items.length);
        return many(items);
      },
      { split: isDataError, max, ...bounds },
    );
}

/** True for transitions that change what callers or pages see. */
function shows(moving: MoveTransition): boolean {
  if (moving.to === 'wait') return moving.progress !== null;
  return moving.to === 'begin' || moving.to === 'notified';
}

/**
 * Repeats a write whose answer was lost, for as long as a lease lasts. If this process gave up at
 * once, nobody would know what was reserved and charged, or the handle of a paid job would be lost.
 */
function persistence(leaseSeconds: number): Persister {
  return persistent({ isPassing: isUnavailable, patienceMs: leaseSeconds * 1000, pauseMs });
}

function moves(db: Database, persist: Persister) {
  return (members: MoveTransition[]): Promise<boolean[]> =>
    persist((isRepeat) => moveMany(db, members, { isRepeat }));
}

/** One submit or one ending. */
interface Member {
  submits: Submit[];
  endings: EndTransition[];
}

/** The verdicts for each member, in order. */
async function settleMany(
  db: Database,
  persist: Persister,
  members: Member[],
): Promise<BatchResult[]> {
  const submits = members.flatMap((member) => member.submits);
  const endings = members.flatMap((member) => member.endings);
  const settled = await persist((isRepeat) =>
    settleBatch(db, submits, endings, { isRepeat }),
  ).catch((cause: unknown) => {
    if (!isUnavailable(cause)) throw cause;
    // Many client libraries repeat a call after a 503, and this call may already have been charged.
    const headers = { 'x-should-retry': 'false' };
    throw new ApiError('capacity_unavailable', { message: dark, headers, cause });
  });
  let [submitted, ended] = [0, 0];
  return members.map((member) => ({
    submitted: settled.submitted.slice(submitted, (submitted += member.submits.length)),
    ended: settled.ended.slice(ended, (ended += member.endings.length)),
  }));
}

/** For each callback, true if the request's poll is due now. */
function callBacks(db: Database) {
  return async (calls: requestSteps.CalledBack[]): Promise<boolean[]> => {
    const due = new Set((await requestSteps.noteCallbacks(db, calls)).map(({ id }) => id));
    return calls.map(({ request_id }) => due.has(request_id));
  };
}

/** A row for each id, in order; null if there is none. */
function byId<Row extends { id: string }>(find: (ids: string[]) => Promise<Row[]>) {
  return async (ids: string[]): Promise<(Row | null)[]> => {
    const rows = new Map((await find([...new Set(ids)])).map((row) => [row.id, row]));
    return ids.map((id) => rows.get(id) ?? null);
  };
}
