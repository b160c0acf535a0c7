import type { FailureCode } from '../errors.ts';

/** States of a request, the next step when it is due, and the allowed transitions. Pure. */

export const statuses = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type Status = (typeof statuses)[number];

export function isFinal(status: Status): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

/**
 * The outcome of the newest call that started the job at an upstream. Null: it is in flight, or
 * its caller died. missing: its answer was lost, and one search at the upstream did not find the
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

/** The fields that `stepFor` decides on. */
export interface DueRequest {
  status: Status;
  kind: 'video' | 'image' | 'text';
  past_deadline: boolean;
  webhook_state: 'pending' | 'delivered' | 'failed' | null;
  /** True if outputs are kept and have expired. */
  outputs_due: boolean;
  /** The newest start, if any. `left`: its outcome is unknown, and another start is due. */
  started: { has_handle: boolean; outcome: AttemptOutcome; left?: boolean } | null;
}

/**
 * start: hand it to an upstream. recover: it was handed over and the answer is not known. poll: ask
 * how it goes.
 * give_up: its time is over. abandon: a chat call whose caller's process died. notify, expire:
 * after the end.
 */
export type Step =
  | 'start'
  | 'recover'
  | 'poll'
  | 'give_up'
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
    // guard: left-start-not-completed
    if (row.started.left) return 'start';
    // guard: handle-is-polled
    if (row.started.has_handle) return 'poll';
    if (row.started.outcome === 'not_accepted') return 'start';
    return 'recover';
  }
  if (row.webhook_state === 'pending') return 'notify';
  if (row.outputs_due) return 'expire';
  return 'idle';
}

/** A stored and measured output, as it goes into the database with its request's end. */
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
 * A change that a step asks for. `attempt` is the claim it was decided under; a later claim voids
 * it.
 */
export type Transition = MoveTransition | EndTransition;

export type MoveTransition = { id: string; attempt: number } & Move;

/** A cancel names no attempt, because no worker decided it: it ends a request that is IN_QUEUE. */
export type EndTransition = { id: string; attempt: number | null } & End;

/** An upstream, and its own name of a model. */
export interface Route {
  upstream: string;
  model: string;
}

/** Transitions without money. */
export type Move =
  /** Commits the intent to call an upstream; from now on the request is IN_PROGRESS. */
  | {
      to: 'begin';
      upstream: string;
      /** The upstream's own name of the model. */
      model: string;
      class: 'A' | 'B' | 'C+' | 'C';
      /** Which of several keys it is called with. */
      key?: string | null;
      request_hash: Buffer;
      deadline_seconds: number;
      lease_seconds: number;
    }
  /** The upstream took it. `started_in` is the attempt whose intent this answers. */
  | {
      to: 'accepted';
      started_in: number;
      handle: Record<string, unknown>;
      wake_seconds: number;
      /** The job is done and its result waits for the storage; it is not given up until then. */
      held?: boolean;
    }
  /** Due again later. May carry an outcome of the start, or news of a poll. */
  | {
      to: 'wait';
      wake_seconds: number;
      started_in: number | null;
      outcome: AttemptOutcome;
      message: string | null;
      progress: Progress | null;
      /** The route of its next start. */
      next?: Route;
      /**
       * The start is left with its outcome unknown: it may have cost, and is not polled any longer.
       */
      left?: boolean;
      /** Frees its slot. */
      frees_slot?: boolean;
      /** It waits in line for the next free slot there. */
      waits?: boolean;
      /** The upstream knew no such job. */
      missing?: boolean;
    }
  /** A claim handed back before anything was sent. */
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
  /** Nothing to do now: due when its outputs expire, or never. */
  | { to: 'idle' };

/** The three ends: status and money change together. */
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
      cost_usd_micro: bigint | null;
      ttl_seconds: number;
    }
  | {
      to: 'FAILED';
      code: FailureCode;
      message: string;
      cost_usd_micro: bigint | null;
      /** The cause, fit for the log. */
      cause?: string;
    }
  | { to: 'CANCELLED' }
);

export interface Progress {
  progress: number | null;
  logs: string[];
}
