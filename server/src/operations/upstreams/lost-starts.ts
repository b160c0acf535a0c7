/** Starts of one account at one route whose answers were lost in a row, in this process. */
export interface LostStarts {
  lost(account_id: string, route: Route): void;
  /** A start was answered: the count starts over. */
  answered(account_id: string, route: Route): void;
  /** Whether this account's calls try that route last. */
  isLast(account_id: string, route: Route): boolean;
}

interface Route {
  upstream: string;
  model: string;
}

/** More than a process serves at a time; beyond it the oldest counts are dropped. */
const countsMax = 10_000;

/**
 * One account's lost starts pause nothing for others, because its input may be the cause; without
 * this count each of its calls would be made twice. `now`: milliseconds.
 */
export function countLostStarts(
  { threshold, seconds }: { threshold: number; seconds: number },
  now = () => performance.now(),
): LostStarts {
  const counts = new Map<string, { count: number; until: number }>();
  const keyOf = (account_id: string, { upstream, model }: Route) =>
    `${account_id} ${upstream} ${model}`;
  return {
    lost(account_id, route) {
      const key = keyOf(account_id, route);
      const count = (counts.get(key)?.count ?? 0) + 1;
      counts.delete(key);
      counts.set(key, { count, until: now() + seconds * 1000 });
      if (counts.size > countsMax) counts.delete(counts.keys().next().value!);
    },
    answered(account_id, route) {
      counts.delete(keyOf(account_id, route));
    },
    isLast(account_id, route) {
      const known = counts.get(keyOf(account_id, route));
      return known !== undefined && known.count >= threshold && now() < known.until;
    },
  };
}
