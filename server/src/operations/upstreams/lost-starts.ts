/** Counts, in this process, an account's successive lost starts (without an answer) at a route. */
export interface LostStarts {
  noteLost(account_id: string, route: Route): void;
  /** A start was answered, so the count starts again from zero. */
  noteAnswer(account_id: string, route: Route): void;
  /** Whether this account's calls try this route last. */
  isLast(account_id: string, route: Route): boolean;
}

interface Route {
  upstream: string;
  model: string;
}

/** Far more counts than one process needs at a time. Above this number the oldest are dropped. */
const countsMax = 10_000;

/**
 * One account's lost starts do not pause a route for others, because the account's input may be the
 * cause. Without this count, each of its calls would be lost at this route before it is made at the
 * next route. `now`: milliseconds.
 */
export function countLostStarts(
  { threshold, seconds }: { threshold: number; seconds: number },
  now = () => performance.now(),
): LostStarts {
  const counts = new Map<string, { count: number; until: number }>();
  const keyOf = (account_id: string, { upstream, model }: Route) =>
    `${account_id} ${upstream} ${model}`;
  return {
    noteLost(account_id, route) {
      const key = keyOf(account_id, route);
      const count = (counts.get(key)?.count ?? 0) + 1;
      counts.delete(key);
      counts.set(key, { count, until: now() + seconds * 1000 });
      if (counts.size > countsMax) counts.delete(counts.keys().next().value!);
    },
    noteAnswer(account_id, route) {
      counts.delete(keyOf(account_id, route));
    },
    isLast(account_id, route) {
      const known = counts.get(keyOf(account_id, route));
      return known !== undefined && known.count >= threshold && now() < known.until;
    },
  };
}
