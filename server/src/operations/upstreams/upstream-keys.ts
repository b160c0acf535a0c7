import { pausedName } from '../../core/catalog/upstream-key.ts';
import * as queue from '../../db/requests/queue.ts';
import * as upstreamStates from '../../db/upstreams/states.ts';
import type { Connection } from '../../lib/sql/sql.ts';
import { keyNames } from '../../upstreams/keys.ts';
import type { Upstream } from '../../upstreams/upstream.ts';

/** Chooses the key for a call to an upstream with several keys, in rotation, past paused keys. */

type Upstreams = ReadonlyMap<string, Upstream>;
type Route = { upstream: string; model: string };

/**
 * The name of the next key for a route. `refused`: keys that have refused this call, which are
 * skipped. Null: no other key is available, or the upstream has only one key. If all keys are
 * paused, the first try of a call uses the key whose pause ends first.
 */
export type KeyFor = (route: Route, refused: readonly string[]) => Promise<string | null>;

export function openKeys(db: Connection, upstreams: Upstreams): KeyFor {
  /** Index of the next key, by upstream. */
  const nexts = new Map<string, number>();
  return async ({ upstream, model }, refused) => {
    const keys = keyNames(upstreams.get(upstream));
    if (keys.length === 0) return null;
    const routes = keys.map((key) => ({ upstream: pausedName(upstream, key), model }));
    // If the database cannot be read, treat no key as paused: the call itself shows whether it
    // works.
    const pauseOf = await queue.readPauses(db, routes).catch(() => () => 0);
    const secondsOf = (key: string) => pauseOf({ upstream: pausedName(upstream, key), model });
    const from = nexts.get(upstream) ?? 0;
    const [next] = [...keys.slice(from), ...keys.slice(0, from)]
      .filter((key) => !refused.includes(key))
      .toSorted((one, other) => secondsOf(one) - secondsOf(other));
    if (next === undefined || (refused.length > 0 && secondsOf(next) > 0)) return null;
    nexts.set(upstream, (keys.indexOf(next) + 1) % keys.length);
    return next;
  };
}

export interface UpstreamKeyView extends upstreamStates.KeyState {
  /** Models that are paused for this key only. */
  paused_models: upstreamStates.PausedModel[];
}

/** The keys of all upstreams that have several keys, in their order. */
export async function readKeyStates(
  db: Connection,
  upstreams: Upstreams,
): Promise<UpstreamKeyView[]> {
  const keys = [...upstreams].flatMap(([upstream, live]) =>
    keyNames(live).map((key) => ({ upstream, key, name: pausedName(upstream, key) })),
  );
  if (keys.length === 0) return [];
  const names = keys.map(({ name }) => name);
  const [states, models] = await Promise.all([
    upstreamStates.readKeyStates(db, keys),
    upstreamStates.listPausedModels(db, names),
  ]);
  return states.map((state, i) => {
    const paused_models = models.filter((model) => model.upstream === names[i]);
    return { ...state, paused_models };
  });
}
