import type { Kind } from '../catalog/catalog.ts';
import type { TokenCounts } from '../chat/chat-bill.ts';
import type { FailureCode, FailureDetails } from '../errors.ts';

/** States of a request, the next step when it is due, and the allowed transitions. Pure. */

export const statuses = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type Status = (typeof statuses)[number];

export function isFinal(status: Status): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

/**
 * The outcome of the newest call that started the job at an upstream. Null: the call is running, or
 * its process died. `missing`: its answer was lost, and a search at the upstream did not find the
 * job.
 */
export type AttemptOutcome =
  | 'accepted'
  | 'done'
  | 'rejected'
  | 'not_accepted'
  | 'unknown'
  | 'missing'
  | null;

/** The fields of a request that `stepFor` needs. */
export interface DueRequest {
  status: Status;
  kind: Kind;
  past_deadline: boolean;
  webhook_state: 'pending' | 'delivered' | 'failed' | null;
  /** True if outputs are still stored but have expired, so that they are due to be deleted. */
  outputs_due: boolean;
  /** The newest start, if any. `left`: its outcome is unknown, and another start is due. */
  started: { has_handle: boolean; outcome: AttemptOutcome; left?: boolean } | null;
  /** The caller asked to stop it while it ran. */
  cancel_asked: boolean;
}

/**
 * start: hand the request to an upstream. recover: a start was sent, but its answer is unknown.
 * poll: ask how the job is going. give_up: the deadline has passed. call_off: cancel a request of
 * which no upstream has a job. abandon: end a chat call whose process died. notify, expire: after
 * the end, send the webhook and delete outputs. idle: nothing is due.
 */
export type Step =
  | 'start'
  | 'recover'
  | 'poll'
  | 'give_up'
  | 'call_off'
  | 'abandon'
  | 'notify'
  | 'expire'
  | 'idle';

export function stepFor(row: DueRequest): Step {
  if (row.status === 'IN_QUEUE') return 'start';
  if (row.status === 'IN_PROGRESS') {
    // guard: dead-chat-is-released
    if (row.kind === 'text') return 'abandon';
    // guard: deadline-ends
    if (row.past_deadline) return 'give_up';
    if (row.started === null) return 'start';
    const hasNoJob = row.started.left === true || isNotAccepted(row.started);
    // guard: called-off-not-started
    if (row.cancel_asked && hasNoJob) return 'call_off';
    // guard: left-start-not-completed
    if (row.started.left) return 'start';
    // guard: handle-is-polled
    if (row.started.has_handle) return 'poll';
    if (isNotAccepted(row.started)) return 'start';
    return 'recover';
  }
  if (row.webhook_state === 'pending') return 'notify';
  if (row.outputs_due) return 'expire';
  return 'idle';
}

/** Whether the upstream surely did not accept the start. */
function isNotAccepted({ has_handle, outcome }: NonNullable<DueRequest['started']>): boolean {
  return !has_handle && outcome === 'not_accepted';
}

/**
 * A stored and measured output. It is written to the database together with the end of its request.
 */
export interface Output {
  index: number;
  field: string;
  storage_key: string;
  content_type: string;
  size: number;
  sha256: string;
  width: number | null;
  height: number | null;
  duration_seconds: number | null;
  file_name: string;
}

/**
 * A change that a step asks for. `attempt` is the claim that decided it; after a later claim it has
 * no effect.
 */
export type Transition = MoveTransition | EndTransition;

export type MoveTransition = { id: string; attempt: number } & Move;

/** `attempt` is null for a cancel of a request that is IN_QUEUE, which no worker decided. */
export type EndTransition = { id: string; attempt: number | null } & End;

export function isEnd(transition: Transition): transition is EndTransition {
  return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(transition.to);
}

/** An upstream, and its own name for a model. */
export interface Route {
  upstream: string;
  model: string;
}

/** Transitions without money. */
export type Move =
  /** Commits the intent to call an upstream; from then on the request is IN_PROGRESS. */
  | {
      to: 'begin';
      upstream: string;
      /** The upstream's own name for the model. */
      model: string;
      class: 'A' | 'B' | 'C+' | 'C';
      /** Which of the upstream's keys it is called with, if it has several. */
      key?: string | null;
      request_hash: Buffer;
      deadline_seconds: number;
      lease_seconds: number;
    }
  /** The upstream accepted the job. `started_in`: the attempt in which it was started. */
  | {
      to: 'accepted';
      started_in: number;
      handle: Record<string, unknown>;
      wake_seconds: number;
      /** The job is done, but its result waits for the storage, so the request is not given up. */
      held?: boolean;
    }
  /**
   * The request is due again later. May carry the outcome of the start, or progress from a poll.
   */
  | {
      to: 'wait';
      wake_seconds: number;
      started_in: number | null;
      outcome: AttemptOutcome;
      message: string | null;
      progress: Progress | null;
      next?: Route;
      /**
       * The start is left with its outcome unknown: it may have cost something, and is no longer
       * polled.
       */
      left?: boolean;
      /** Frees the request's slot at the upstream. */
      frees_slot?: boolean;
      /** The request waits in line for the next free slot at the upstream. */
      waits?: boolean;
      /** The upstream did not find the job. */
      missing?: boolean;
      /** The upstream is about to be asked to stop the job, or has taken that. */
      stop?: 'asked' | 'taken';
      /** An output could not be fetched; how long this try took. */
      unfetched_seconds?: number | null;
    }
  /** Gives a claim back before anything was sent. */
  | { to: 'requeue' }
  | {
      to: 'notified';
      account_id: string;
      url: string;
      status: number | null;
      error: string | null;
      duration_ms: number;
      delivered: boolean;
    }
  | { to: 'expired' }
  /** Nothing to do now: the request is due when its outputs expire, or never. */
  | { to: 'idle' };

/** The three endings. Each changes status and money together. */
export type End = {
  account_id: string;
  key_id: string;
  opens_job: boolean;
  /** For the operator's log and metrics. */
  model_id?: string;
  upstream?: string;
} & (
  | {
      to: 'COMPLETED';
      charge: bigint;
      output: unknown;
      outputs: Output[];
      quantity: number | null;
      /** Set for a chat. */
      tokens?: TokenCounts;
      cost_usd_micro: bigint | null;
      ttl_seconds: number;
    }
  | {
      to: 'FAILED';
      code: FailureCode;
      message: string;
      details?: FailureDetails | undefined;
      cost_usd_micro: bigint | null;
      /** The cause, in a form that may be logged. */
      cause?: string;
    }
  /** `stopped`: of a request that ran. */
  | { to: 'CANCELLED'; stopped?: StoppedBill }
);

/** A job that was stopped on request: what it is charged, and its units and cost, if known. */
export interface StoppedBill {
  charge: bigint;
  quantity: number | null;
  cost_usd_micro: bigint | null;
}

export interface Progress {
  progress: number | null;
  logs: string[];
}
