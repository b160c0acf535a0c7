import type { Model } from './catalog.ts';

/** Pictures that show what a model makes: the operator's file, or one that the sandbox paints. */

/** A picture on a page has far less; larger ones would make the list of models slow. */
export const sampleMaxBytes = 1024 * 1024;

/** The path of the picture on this service; null if the model has none. */
export function samplePath(model: Pick<Model, 'id' | 'kind' | 'sample' | 'upstreams'>) {
  const { id, sample } = model;
  if (sample !== undefined) return `/models/${id}/sample${/\.\w+$/.exec(sample)?.[0] ?? ''}`;
  return isPainted(model) ? `/models/${id}/sample.svg` : null;
}

/** Only the sandbox's pictures can be made without a call to an upstream. */
export function isPainted({ kind, upstreams }: Pick<Model, 'kind' | 'upstreams'>): boolean {
  return kind !== 'text' && upstreams.every(({ upstream }) => upstream === 'sandbox');
}
