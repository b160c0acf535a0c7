import { hash } from 'node:crypto';
import type { Catalog } from './catalog.ts';

/** Names of models for Replicate's client, which takes only `owner/name`. Pure. */

/** Ids of two segments are names already; further segments are joined to the second one. */
export function replicateName(id: string): string {
  const [owner = '', ...rest] = id.split('/');
  return rest.length === 0 ? `models/${owner}` : `${owner}/${rest.join('--')}`;
}

/** The id of a model's only version: 64 hexadecimal digits. */
export function replicateVersion(id: string): string {
  return hash('sha256', `replicate ${id}`, 'hex');
}

const known = new WeakMap<Catalog['models'], Map<string, string>>();

/** The id behind an id, a name, a version, or a name with its version; null: none. */
export function idByName({ models }: Catalog, asked: string): string | null {
  if (models.has(asked)) return asked;
  let ids = known.get(models);
  if (!ids) {
    const names = [...models.keys()].flatMap((id): [string, string][] => {
      const [name, version] = [replicateName(id), replicateVersion(id)];
      return [name, version, `${name}:${version}`, `${id}:${version}`].map((each) => [each, id]);
    });
    ids = new Map(names);
    known.set(models, ids);
  }
  return ids.get(asked) ?? null;
}
