import { call } from '../api.ts';
import type { Model } from '../api-types.ts';
import { briefUsd } from '../money.ts';
import { mediaOf, schemaOf } from './form/schema.ts';
import { kinds, type Sort, type GalleryFilter } from './form/gallery-filter.ts';
import type { Translate } from '../texts/format.ts';

/** The catalog, as the service publishes it. */

/**
 * The public catalog at list prices. To show a price, use `useModels`, which has the account's
 * prices.
 */
export const modelsQuery = {
  queryKey: ['models'],
  queryFn: async () => (await call<{ data: Model[] }>('/v1/models')).data,
  staleTime: 60_000,
};

/** A catalog price (a number of dollars) as text, down to the last micro-USD. */
export function usd(price: number): string {
  return briefUsd(BigInt(Math.round(price * 1_000_000)), 'up');
}

/** The unit price: one amount, the range of the resolutions, or a text model's two prices. */
export function rates(model: Model): string[] {
  if (typeof model.price === 'object') return [usd(model.price.input), usd(model.price.output)];
  const all = Object.values(model.price_by_resolution ?? {});
  const least = Math.min(model.price, ...all);
  return least < model.price ? [usd(least), usd(model.price)] : [usd(model.price)];
}

/** Says that the operator stopped the model, with the operator's note; null if it is sold. */
export function stoppedText(
  { status, status_note: note }: Pick<Model, 'status' | 'status_note'>,
  t: Translate,
): string | null {
  if (status !== 'stopped') return null;
  return note ? t('stopped_note', { note }) : t('stopped');
}

/** The path of the model's page. */
export function addressOf({ id }: Pick<Model, 'id'>): string {
  return `/studio/${id.split('/').map(encodeURIComponent).join('/')}`;
}

/** Matching models, best first. */
export function filterModels(
  models: Model[],
  { q = '', kind, task, sort = 'suggested' }: GalleryFilter,
): Model[] {
  const words = fold(q).split(/\s+/).filter(Boolean);
  const fitting = models.filter(
    (model) =>
      (kind === undefined || model.kind === kind) &&
      (task === undefined || model.task === task) &&
      words.every((word) => textOf(model).includes(word)),
  );
  const order = orders[sort];
  return fitting.toSorted(
    (a, b) =>
      (sort === 'suggested' ? score(b, words) - score(a, words) : 0) ||
      order(a, b) ||
      a.id.localeCompare(b.id),
  );
}

/** The first model that `choose` suggests, preferably one that is sold and whose example needs no file. */
export function firstChoice(models: Model[]): Model | undefined {
  const needsFile = ({ example }: Model) => JSON.stringify(example).includes('://');
  const isStopped = ({ status }: Model) => status === 'stopped';
  const [first] = filterModels(models, {}).toSorted(
    (a, b) =>
      Number(isStopped(a)) - Number(isStopped(b)) || Number(needsFile(a)) - Number(needsFile(b)),
  );
  return first;
}

/** `suggested`: images, videos, texts; generating before editing; cheap before expensive. */
const orders: Record<Sort, (a: Model, b: Model) => number> = {
  suggested: (a, b) =>
    kinds.indexOf(a.kind) - kinds.indexOf(b.kind) ||
    Number(isMaking(b)) - Number(isMaking(a)) ||
    a.task.localeCompare(b.task) ||
    leastPrice(a) - leastPrice(b),
  price: (a, b) =>
    a.unit.localeCompare(b.unit) || leastPrice(a) - leastPrice(b) || a.name.localeCompare(b.name),
  name: (a, b) => a.name.localeCompare(b.name),
  newest: (a, b) => b.created - a.created || a.name.localeCompare(b.name),
};

function isMaking({ task }: Model): boolean {
  return task.startsWith('text-to-') || task === 'image-to-video';
}

/** For a text model the sum of its two prices: either alone may be low. */
function leastPrice({ price, price_by_resolution }: Model): number {
  if (typeof price === 'object') return price.input + price.output;
  return Math.min(price, ...Object.values(price_by_resolution ?? {}));
}

/** How many of the words occur in the name or id; matches elsewhere do not count. */
function score(model: Model, words: string[]): number {
  const name = fold(`${model.name} ${model.id}`);
  return words.filter((word) => name.includes(word)).length;
}

function textOf({ id, name, description, kind, task, owned_by, uncensored }: Model): string {
  const mark = uncensored ? 'uncensored' : '';
  return fold(`${id} ${name} ${description} ${kind} ${task} ${owned_by} ${mark}`);
}

/** Normalised for comparison: without case and accents. */
export function fold(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

/** Queue models that accept this kind of media in a field. */
export function modelsThatTake(models: Model[], media: 'image' | 'video' | 'audio'): Model[] {
  return models.filter(
    (model) =>
      model.kind !== 'text' &&
      Object.keys(schemaOf(model.input_schema).properties ?? {}).some(
        (field) => mediaOf(field) === media,
      ),
  );
}
