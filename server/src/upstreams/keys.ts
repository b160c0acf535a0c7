import { pausedName } from '../core/catalog/upstream-key.ts';
import type { Upstream } from './upstream.ts';

/** Upstreams that are called with several keys. */

/** The names of an upstream's keys if it has several; otherwise an empty list. */
export function keyNames(upstream: Upstream | undefined): string[] {
  const { keys } = upstream ?? {};
  return keys !== undefined && keys.size > 1 ? [...keys.keys()] : [];
}

/**
 * The upstream with the key of this name; null means the first key. Undefined if the settings do
 * not have the key.
 */
export function byKey(upstream: Upstream | undefined, key: string | null): Upstream | undefined {
  if (key !== null) return upstream?.keys?.get(key);
  return upstream?.keys?.values().next().value ?? upstream;
}

/** Names under which this process can poll jobs: each upstream, and each of its keys. */
export function namesOf(upstreams: ReadonlyMap<string, Upstream>): string[] {
  return [...upstreams].flatMap(([name, { keys }]) => [
    name,
    ...[...(keys?.keys() ?? [])].map((key) => pausedName(name, key)),
  ]);
}
