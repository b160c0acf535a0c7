/**
 * Decides whether an upstream that answers "busy", or only one of its models, is paused, and for
 * how long. Pure.
 */

/** An upstream's "busy" reply to a call for this model and account; `at` is in unix seconds. */
export interface BusyReply {
  model: string;
  account_id: string;
  at: number;
}

/** Older replies are ignored: they say nothing about the present. */
const countsSeconds = 600;
/**
 * More replies are not needed: the decision depends only on whether there are two models or two
 * accounts.
 */
const keptMax = 8;
/** How long calls of a single account can pause a model, or the upstream, for all others. */
const aloneMaxSeconds = 5;

/** The replies since the last success, with the new one last. */
export function withReply(before: readonly BusyReply[], reply: BusyReply): BusyReply[] {
  const others = before.filter(
    ({ model, account_id, at }) =>
      at > reply.at - countsSeconds && (model !== reply.model || account_id !== reply.account_id),
  );
  return [...others.slice(1 - keptMax), reply];
}

/**
 * Seconds to pause the model. If at least two accounts got the reply, for as long as the upstream
 * asks; otherwise at most `aloneMaxSeconds`.
 */
export function modelPause(replies: readonly BusyReply[], wishSeconds: number): number {
  const isAlone = new Set(replies.map(({ account_id }) => account_id)).size < 2;
  // guard: lone-account-pauses-briefly
  return isAlone ? Math.min(wishSeconds, aloneMaxSeconds) : wishSeconds;
}

/**
 * Seconds to pause the whole upstream; 0 unless two models or two accounts got the reply, or the
 * upstream says that its limit covers our whole account.
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
