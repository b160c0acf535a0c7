/** When an upstream that says that it is busy is paused, and how much of it. Pure. */

/** It said so to a call of this model, for this account, at this time in unix seconds. */
export interface BusyReply {
  model: string;
  account_id: string;
  at: number;
}

/** What was said before says nothing of today. */
const countsSeconds = 600;
/** More say nothing new: two models, or two accounts, are what counts. */
const keptMax = 8;
/** How long one account alone can close a model, or the upstream, to the others. */
const aloneMaxSeconds = 5;

/** The replies since the last success, with this one as the newest. */
export function withReply(before: readonly BusyReply[], reply: BusyReply): BusyReply[] {
  const others = before.filter(
    ({ model, account_id, at }) =>
      at > reply.at - countsSeconds && (model !== reply.model || account_id !== reply.account_id),
  );
  return [...others.slice(1 - keptMax), reply];
}

/** Seconds for the model that was asked: as long as it wishes, once two accounts were told so. */
export function modelPause(replies: readonly BusyReply[], wishSeconds: number): number {
  const isAlone = new Set(replies.map(({ account_id }) => account_id)).size < 2;
  return isAlone ? Math.min(wishSeconds, aloneMaxSeconds) : wishSeconds;
}

/**
 * Seconds for the upstream as a whole: not before two models or two accounts were told so, unless
 * it says itself that its limit is of the whole account.
 */
export function upstreamPause(
  replies: readonly BusyReply[],
  wishSeconds: number,
  isAccountWide: boolean,
): number {
  const models = new Set(replies.map(({ model }) => model));
  const accounts = new Set(replies.map(({ account_id }) => account_id));
  const isWide = isAccountWide || models.size > 1 || accounts.size > 1;
  return isWide ? modelPause(replies, wishSeconds) : 0;
}
