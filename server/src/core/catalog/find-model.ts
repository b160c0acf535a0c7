import { nearest } from '../../lib/nearest.ts';
import type { Catalog, Model } from './catalog.ts';
import { ApiError } from '../errors.ts';

/** The row with this id. Throws `unknown_model` if there is none. */
export function findModel(catalog: Catalog, id: unknown): Model {
  const model = typeof id === 'string' ? catalog.models.get(id) : undefined;
  if (model) return model;
  if (typeof id === 'string')
    throw new ApiError('unknown_model', { ...unknownModel(id, catalog), param: 'model_id' });
  throw new ApiError('unknown_model', {
    message: `The model id is missing. ${listed}`,
    param: 'model_id',
  });
}

const listed = 'GET /v1/models lists the ids, to be used exactly as listed.';

/** The refusal of an unknown model id, with the id that was probably meant. */
export function unknownModel(id: string, catalog: Catalog, then = listed) {
  const did_you_mean = nearest(id, [...catalog.models.keys()]);
  const guess = did_you_mean === null ? '' : ` Did you mean ${did_you_mean}?`;
  return {
    message: `No model has the id "${id.slice(0, 200)}".${guess} ${then}`,
    ...(did_you_mean !== null && { details: { did_you_mean } }),
  };
}

/** Throws `forbidden` if the key may not use this model. */
export function demandModel(
  { models }: { models: readonly string[] | null },
  model_id: string,
  param: 'model_id' | 'model',
): void {
  // guard: key-models (off: true)
  if (models === null || models.includes(model_id)) return;
  const [first, ...others] = models;
  const listed = others.length === 0 ? first : `${first} and ${others.length} more`;
  throw new ApiError('forbidden', {
    message:
      `This key may use ${listed}, but not ${model_id}. Use another key, or allow ` +
      'the model for this one in the dashboard.',
    param,
    details: { models },
  });
}
