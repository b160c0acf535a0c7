import { isOfKey, pausedName, type UpstreamRefusal } from '../../core/catalog/upstream-key.ts';
import * as upstreamPauses from '../../db/upstreams/pauses.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { keyNames } from '../../upstreams/keys.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import { countLostStarts } from './lost-starts.ts';
import { openKeys, type KeyFor } from './upstream-keys.ts';

/**
 * Successive failures after which an upstream, or one of its models, is paused, and for how long.
 */
const limits = { threshold: 5, model_threshold: 3, failure_pause_seconds: 30 };
/** Longest pause that an upstream may ask for. */
const pauseMaxSeconds = 120;
/** Pause of an upstream that needs the operator's attention. */
const operatorFaultPauseSeconds = 60;
/** Pause after a rate limit that does not say when it ends. */
const limitedSeconds = 2;
/** Pause of a model that the upstream does not have. */
const missingModelPauseSeconds = 300;
/** After a success, how long further successes of the model are not written to the database. */
const healthyMs = 1_000;
/**
 * A refused poll is recorded at most this often, because the polls of every job are refused alike.
 */
const pollNotedMs = 60_000;

/** An upstream, its own name for a model, and the key that was used if it has several. */
export interface UpstreamCall {
  upstream: string;
  model: string;
  key?: string | null | undefined;
}

/** A call that was not accepted, or whose answer was lost. */
export interface FailedCall {
  outcome: 'not_accepted' | 'unknown';
  account_id: string;
  /** The catalog row that the caller asked for. */
  model_id: string;
  /** The upstream's message, without the caller's input. */
  cause: string;
  why?: UpstreamRefusal | undefined;
  /** How long the upstream asks us to wait. */
  retry_after_ms?: number | undefined;
  /** True for a rate limit; `account_wide`: the limit covers our whole account at the upstream. */
  limited?: boolean | undefined;
  account_wide?: boolean | undefined;
}

/** A refused poll of a running job. */
type RefusedPoll = Pick<FailedCall, 'model_id' | 'cause' | 'retry_after_ms'> & {
  why: UpstreamRefusal;
};

/**
 * Records how calls of upstreams went, for all processes, and pauses upstreams that fail too often.
 */
export interface Circuit {
  keyFor: KeyFor;
  noteFailure(route: UpstreamCall, failed: FailedCall): Promise<void>;
  /** `began`: when the call was made, as `performance.now()`. */
  noteSuccess(route: UpstreamCall, account_id: string, began: number): Promise<void>;
  /** Notes the first piece of a stream. */
  streamBegan(upstream: string, request_id: string): void;
  /** Counts a stream that the upstream broke off. Its start had succeeded. */
  streamBroke(upstream: string): void;
  /** Whether this account's calls try this route last, because its newest calls there were lost. */
  isLast(account_id: string, route: UpstreamCall): boolean;
  /**
   * Pauses this process's polls of an upstream that refused a poll, for as long as it asks. Starts
   * are not paused. Returns the seconds.
   */
  pollRefused(upstream: KeyedUpstream, refused: RefusedPoll): Promise<number>;
  /** Seconds until this upstream is polled again; 0: now. */
  pollWaitSeconds(upstream: KeyedUpstream): number;
}

/** An upstream together with the key that it is called with. */
type KeyedUpstream = Pick<Upstream, 'name' | 'key'>;

/** A failed call as reported to the operator. */
export interface UpstreamFailure {
  upstream: string;
  /** Set if the upstream has several keys and this key is at fault. */
  key?: string;
  /** The upstream's own name for the model; not set for a poll. */
  model?: string;
  model_id: string;
  why: UpstreamRefusal;
  cause: string;
}

interface Listener {
  startFailed(failure: UpstreamFailure, record: upstreamPauses.PauseRecord): void;
  /** The failure of a start could not be written to the database. */
  failureNotRecorded(upstream: string, err: unknown): void;
  /** Every key is paused now, so the upstream, or a model of it, is paused as well. */
  keysPaused(failure: UpstreamFailure, record: upstreamPauses.PauseRecord): void;
  /** `resumed`: models whose pause has ended; an empty name means the whole upstream. */
  startSucceeded(route: UpstreamCall, resumed: readonly string[]): void;
  pollRefused(failure: UpstreamFailure): void;
  streamBegan(upstream: string, request_id: string): void;
  streamBroke(upstream: string): void;
}

export function openCircuit(
  db: Database,
  upstreams: ReadonlyMap<string, Upstream>,
  listener: Listener,
): Circuit {
  return {
    keyFor: openKeys(db, upstreams),
    ...startCircuit(db, upstreams, listener),
    ...pollCircuit(db, listener),
    streamBegan: listener.streamBegan,
    streamBroke: listener.streamBroke,
  };
}

function startCircuit(
  db: Database,
  upstreams: ReadonlyMap<string, Upstream>,
  listener: Listener,
): Pick<Circuit, 'noteFailure' | 'noteSuccess' | 'isLast'> {
  const lostStarts = countLostStarts({
    threshold: limits.model_threshold,
    seconds: limits.failure_pause_seconds,
  });
  /** Until when each upstream (or each of its keys) counts as healthy, by model. */
  const healthy = new Map<string, Map<string, number>>();

  async function noteHealthy(name: string, model: string, began: number): Promise<string[]> {
    const now = performance.now();
    const known = healthy.get(name) ?? new Map<string, number>();
    // guard: success-ends-failures (off: true)
    if (now < (known.get(model) ?? 0)) return [];
    // Set before the write: of many calls that succeed together, only one updates the database.
    healthy.set(name, known.set(model, now + healthyMs));
    const seconds = (now - began) / 1000;
    // A failed write must not stop the job that was just started; the next success is recorded as
    // well.
    const resumed = await upstreamPauses.noteSuccess(db, name, model, seconds).catch(() => []);
    return resumed.map((each) => each.model);
  }

  return {
    async noteFailure(route, failure) {
      // A failed write is only reported, because the call itself still has to be settled.
      await noteFailed(route, failure).catch((err: unknown) =>
        listener.failureNotRecorded(route.upstream, err),
      );
    },
    async noteSuccess({ upstream, model, key }, account_id, began) {
      lostStarts.noteAnswer(account_id, { upstream, model });
      const names = await noteHealthy(upstream, model, began);
      listener.startSucceeded({ upstream, model }, names);
      if (typeof key !== 'string') return;
      const ofKey = await noteHealthy(pausedName(upstream, key), model, began);
      listener.startSucceeded({ upstream, model, key }, ofKey);
    },
    isLast: lostStarts.isLast,
  };

  async function noteFailed(
    { upstream, model, key }: UpstreamCall,
    failed: FailedCall,
  ): Promise<void> {
    const { account_id, model_id, cause, retry_after_ms } = failed;
    const why = failed.outcome === 'unknown' ? 'lost' : (failed.why ?? 'busy');
    if (why === 'lost') lostStarts.noteLost(account_id, { upstream, model });
    const blamed = isOfKey({ why, limited: failed.limited }) ? (key ?? null) : null;
    const name = pausedName(upstream, blamed);
    const { account_wide } = failed;
    const failure = { account_id, message: cause, why, model, account_wide };
    const noted = await upstreamPauses.noteFailure(db, name, {
      ...failure,
      pause_seconds: pauseSeconds(why, retry_after_ms) || (failed.limited ? limitedSeconds : 0),
      // One account's input may be why a model seems missing, so only two accounts can pause it.
      pauses_at_once: why !== 'model',
      counts_alone: why === 'unreachable',
      ...limits,
    });
    healthy.delete(name);
    const told = { upstream, model, model_id, why, cause };
    if (blamed === null) return listener.startFailed(told, noted);
    listener.startFailed({ ...told, key: blamed }, noted);
    const names = keyNames(upstreams.get(upstream)).map((each) => pausedName(upstream, each));
    const paused = await upstreamPauses.pauseWithKeys(db, upstream, model, names);
    if (paused.length > 0) healthy.delete(upstream);
    for (const each of paused) listener.keysPaused(told, each);
  }
}

function pollCircuit(
  db: Database,
  listener: Listener,
): Pick<Circuit, 'pollRefused' | 'pollWaitSeconds'> {
  /** By upstream: until when polls are paused. */
  const waits = new Map<string, number>();
  /** By upstream and kind: until when a refusal is not recorded again. */
  const noted = new Map<string, number>();
  return {
    async pollRefused({ name: upstream, key }, refused) {
      const { model_id, why, cause, retry_after_ms } = refused;
      const now = performance.now();
      const seconds = wishSeconds(retry_after_ms);
      const name = pausedName(upstream, key);
      waits.set(name, Math.max(waits.get(name) ?? 0, now + seconds * 1000));
      listener.pollRefused({ upstream, ...(key !== undefined && { key }), model_id, why, cause });
      const kind = JSON.stringify([name, why]);
      if (now >= (noted.get(kind) ?? 0)) {
        noted.set(kind, now + pollNotedMs);
        await upstreamPauses.noteRefusedPoll(db, name, { message: cause, why });
      }
      return seconds;
    },
    pollWaitSeconds: ({ name, key }) =>
      Math.max(0, ((waits.get(pausedName(name, key)) ?? 0) - performance.now()) / 1000),
  };
}

/** Records that the upstream has accepted our key; `key`: its name, if the upstream has several. */
export function noteKeyTaken(db: Database, upstream: string, key: string | null): Promise<void> {
  return upstreamPauses.noteKeyTaken(db, pausedName(upstream, key));
}

/** How long the upstream asks us to wait, at most `pauseMaxSeconds`. */
function wishSeconds(retryAfterMs = 0): number {
  const isWish = Number.isFinite(retryAfterMs) && retryAfterMs > 0;
  return isWish ? Math.min(retryAfterMs / 1000, pauseMaxSeconds) : 0;
}

function pauseSeconds(why: UpstreamRefusal, retryAfterMs?: number): number {
  const wish = wishSeconds(retryAfterMs);
  if (why === 'model') return missingModelPauseSeconds;
  return why === 'account' || why === 'credential'
    ? Math.max(wish, operatorFaultPauseSeconds)
    : wish;
}
