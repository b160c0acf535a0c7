/**
 * Decides whether an upstream whose starts fail, or only one of its models, is paused, and for how
 * long. Pure.
 */

/** Older failures and replies are ignored: they say nothing about the present. */
const countsSeconds = 600;
/**
 * Maximum number of replies that are kept. More are not needed: the decision depends only on
 * whether there are two models or two accounts.
 */
const keptMax = 8;
/**
 * How long "busy" replies to a single account can pause a model, or the upstream, for all others.
 */
const aloneMaxSeconds = 5;

/** The stored state of an upstream, or of one of its models. */
export interface FailureState {
  /** Failed starts in succession. */
  failures: number;
  /** Seconds since the newest of them; null: none has ever failed. */
  failed_ago: number | null;
  /** The account of that failure; null: a start has succeeded since. */
  failed_account: string | null;
  /** Seconds since the newest failure of another account; null: none since a start succeeded. */
  other_failed_ago: number | null;
  /** Seconds until the pause ends; 0: it is not paused. */
  paused_seconds: number;
}

/** A failed start, as it counts for an upstream or for one of its models. */
export interface StartFailure {
  account_id: string;
  /** Seconds to pause for this kind of failure, or as long as the upstream asks; 0: no pause. */
  pause_seconds: number;
  /** False: the pause of `pause_seconds` begins only after starts of two accounts have failed. */
  pauses_at_once: boolean;
  /** The caller's input cannot be the cause, so failures of a single account count too. */
  counts_alone: boolean;
  /** Failures in succession that begin a pause, and its length. */
  threshold: number;
  failure_pause_seconds: number;
}

/**
 * The state after a failed start. Repeated failures begin a pause only if two accounts had them (a
 * single account's inputs may be the cause), or if the failure `counts_alone`. With
 * `pauses_at_once`, a single failure begins the pause of `pause_seconds`.
 */
export function failuresAfter(
  before: FailureState,
  failure: StartFailure,
): Pick<FailureState, 'failures' | 'other_failed_ago' | 'paused_seconds'> {
  const { failed_account, failed_ago, paused_seconds } = before;
  const isOther = failed_account !== null && failed_account !== failure.account_id;
  const other_failed_ago = isOther ? failed_ago : before.other_failed_ago;
  const failures = isRecent(failed_ago) ? before.failures + 1 : 1;
  const counts = failure.counts_alone || isRecent(other_failed_ago);
  const asked = failure.pauses_at_once || counts ? failure.pause_seconds : 0;
  const many = counts && failures >= failure.threshold ? failure.failure_pause_seconds : 0;
  return { failures, other_failed_ago, paused_seconds: Math.max(paused_seconds, asked, many) };
}

function isRecent(ago: number | null): boolean {
  // guard: old-failure-forgotten (off: ago !== null)
  return ago !== null && ago < countsSeconds;
}

/** An upstream's "busy" reply to a call for this model and account; `at` is in unix seconds. */
export interface BusyReply {
  model: string;
  account_id: string;
  at: number;
}

/** The replies since the last success, with the new one last. */
export function withReply(before: readonly BusyReply[], reply: BusyReply): BusyReply[] {
  const others = before.filter(
    ({ model, account_id, at }) =>
      at > reply.at - countsSeconds && (model !== reply.model || account_id !== reply.account_id),
  );
  return [...others.slice(1 - keptMax), reply];
}

/**
 * Seconds to pause the model: as long as the upstream asks if at least two accounts got the reply,
 * otherwise at most `aloneMaxSeconds`.
 */
export function modelPause(replies: readonly BusyReply[], wishSeconds: number): number {
  const isAlone = new Set(replies.map(({ account_id }) => account_id)).size < 2;
  // guard: lone-account-pauses-briefly
  return isAlone ? Math.min(wishSeconds, aloneMaxSeconds) : wishSeconds;
}

/**
 * Seconds to pause the whole upstream, limited as in `modelPause`. 0 unless two models or two
 * accounts got the reply, or the upstream says that its limit covers our whole account.
 */
export function upstreamPause(
  replies: readonly BusyReply[],
  wishSeconds: number,
  isAccountWide: boolean,
): number {
  const models = new Set(replies.map(({ model }) => model));
  const accounts = new Set(replies.map(({ account_id }) => account_id));
  // guard: one-model-pauses-itself (off: true)
  const isWide = isAccountWide || models.size > 1 || accounts.size > 1;
  return isWide ? modelPause(replies, wishSeconds) : 0;
}
