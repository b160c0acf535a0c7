import type { Links } from '../core/request/views.ts';
import type { Catalog } from '../core/catalog/catalog.ts';
import type { Transition } from '../core/request/request.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import type { Budget } from '../lib/budget.ts';
import type { FairQueue } from '../lib/fair-queue.ts';
import type { Fetch } from '../lib/outbound/fetch.ts';
import type { Database } from '../lib/sql/sql.ts';
import type { Tracer } from '../lib/trace.ts';
import type { Operations } from '../operations/requests/batched.ts';
import type { WebhookFetches } from '../operations/requests/webhook-fetch.ts';
import type { Circuit } from '../operations/upstreams/circuit.ts';
import type { Spool } from '../storage/spool.ts';
import type { WatchedStorage } from '../storage/watched.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** Dependencies of the steps of a worker. */
export interface StepDeps extends WebhookFetches {
  db: Database;
  storage: WatchedStorage;
  /** Stores results while the storage is away. */
  spool: Spool;
  upstreams: ReadonlyMap<string, Upstream>;
  catalog: () => Catalog;
  /** Refuses addresses that are neither public nor allowed by the operator. */
  guarded: Fetch;
  /** For addresses that the operator configured. */
  trusted: Fetch;
  log: Log;
  /** Null: traces are off. */
  tracer: Tracer | null;
  settings: WorkerSettings;
  operations: Pick<Operations, 'advance'>;
  /** Records how calls of an upstream went. */
  circuit: Circuit;
  /** Bytes of callers' files that are fetched before they are sent on; by account. */
  inputBytes: Budget;
  /** Files that are measured, decoded or converted, by account. */
  decoding: Pick<FairQueue, 'run'>;
  /** Logs that a job runs at an upstream that is not set up here. */
  missingUpstream: (upstream: string) => Promise<void>;
}

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Settings that steps read, by their names in `config.ts`, and what follows from them. */
export interface WorkerSettings {
  FAREBOX_WORKER_CONCURRENCY: number;
  FAREBOX_LEASE_SECONDS: number;
  /** Time limit of a step, and of a call to an upstream that sets none. */
  FAREBOX_STEP_TIMEOUT_SECONDS: number;
  /** Time limit of fetching all outputs of a job. */
  FAREBOX_OUTPUT_SECONDS: number;
  FAREBOX_POLL_SECONDS: number;
  FAREBOX_OUTPUT_MAX_BYTES: number;
  outputTtlSeconds: number;
  /** How long a request's payloads are kept after its end. */
  FAREBOX_RETENTION_DAYS: number;
  /** Time limit of a notification, including its answer. */
  webhookMs: number;
  /** For the links in notifications. */
  links: Links;
  /** Signing secrets that are accepted, newest first. */
  secrets: readonly Buffer[];
}

/**
 * Does the step that is due and returns the request's transition, or null if nothing has to be
 * written. Network calls happen outside any transaction and obey the signal, which fires before the
 * lease ends.
 */
export type StepRun = (
  row: ClaimedRequest,
  deps: StepDeps,
  signal: AbortSignal,
) => Promise<Transition | null>;

export type WaitTransition = Extract<Transition, { to: 'wait' }>;

/** The request is due again after `wake_seconds`; apart from that, only `facts` change. */
export function waitTransition(
  { id, attempt, started_in }: ClaimedRequest,
  wake_seconds: number,
  facts: Partial<Omit<WaitTransition, 'id' | 'attempt' | 'to' | 'wake_seconds'>> = {},
): WaitTransition {
  const unchanged = { started_in, outcome: null, message: null, progress: null };
  return { id, attempt, to: 'wait', wake_seconds, ...unchanged, ...facts };
}

/** Records how this attempt's start ended; the request is due again after `wake_seconds`. */
export function triedTransition(
  row: ClaimedRequest,
  { outcome, message }: { outcome: 'not_accepted' | 'unknown'; message: string },
  wake_seconds: number,
): WaitTransition {
  return waitTransition(row, wake_seconds, { started_in: row.attempt, outcome, message });
}

/** Limits the delay that an upstream asks for. */
export function boundedSeconds(
  ms: number | undefined,
  fallbackSeconds: number,
  maxSeconds: number,
): number {
  if (ms === undefined || !Number.isFinite(ms) || ms < 0) return fallbackSeconds;
  return Math.min(ms / 1000, maxSeconds);
}
