/** When an upstream that answers "busy" is paused, and how much of it. Pure. */

/** It answered "busy" to a call of this model, for this account, at this time in unix seconds. */
export interface BusyReply {
  model: string;
  account_id: string;
  at: number;
}

/** Older replies say nothing about now. */
const countsSeconds = 600;
/** More would say nothing new: what counts is two models, or two accounts. */
const keptMax = 8;
/** How long one account alone can pause a model, or the upstream, for the others. */
const aloneMaxSeconds = 5;

/** The replies since the last success, with this one as the newest. */
export function withReply(before: readonly BusyReply[], reply: BusyReply): BusyReply[] {
  const others = before.filter(
    ({ model, account_id, at }) =>
      at > reply.at - countsSeconds && (model !== reply.model || account_id !== reply.account_id),
  );
  return [...others.slice(1 - keptMax), reply];
}

/**
 * Seconds to pause the model that was asked: as long as the upstream wishes, once two accounts got
 * the answer.
 */
export function modelPause(replies: readonly BusyReply[], wishSeconds: number): number {
  const isAlone = new Set(replies.map(({ account_id }) => account_id)).size < 2;
  // guard: lone-account-pauses-briefly
  return isAlone ? Math.min(wishSeconds, aloneMaxSeconds) : wishSeconds;
}

/**
 * Seconds to pause the whole upstream: only after two models or two accounts got the answer, unless
 * the upstream says that its limit covers the whole account.
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
