import { isObject, objectOf } from '../../server/src/lib/json.ts';
import { mediaRow } from './row.ts';
import { plainSchema } from './schema.ts';
import {
  getJson,
  objectsIn,
  text,
  type FoundModel,
  type Json,
  type Terms,
  type Vendor,
} from './vendor.ts';

type Kind = 'image' | 'video';

/** Models of Replicate; patterns select only official models. */
export const replicate: Vendor = {
  source: 'Replicate',
  takesPrice: true,
  needsNames:
    'Replicate lists no prices, so say which models you want: --only owner/name, ' +
    'or a pattern with * for the official ones.',
  notes: [
    'Replicate lists no prices: they are on the page of each model. Rows without one are',
    'comments: put a price in place of PRICE, and take the # at the beginning of each line away.',
    'Rows are closed (additionalProperties: false): no price covers what other fields ask for.',
  ],
  async *read({ url, key }, { names, matches }, terms) {
    const ask = (path: string) => getJson(`${url}${path}`, `Bearer ${key}`);
    const official = async () => objectsIn((await ask('/collections/official'))?.models);
    const listed = async () => (await official()).map(({ owner, name }) => `${owner}/${name}`);
    for (const model of names ?? (await listed()).filter(matches)) {
      const isName = /^[^/:]+\/[^/:]+$/.test(model);
      const path = model.split('/').map(encodeURIComponent).join('/');
      const entry = isName ? await ask(`/models/${path}`) : null;
      if (entry !== null) yield foundOf(model, entry, terms);
      else if (isName) yield { model, reason: 'Replicate has no such model' };
      else yield { model, reason: 'only owner/name has a listed input' };
    }
  },
};

function foundOf(id: string, entry: Json, terms: Terms): FoundModel {
  const { id: version = 'hidden', openapi_schema } = objectOf(entry.latest_version);
  // Only official models are called by name alone; others need a version.
  const isNamed = entry.is_official === true || version === 'hidden';
  const model = isNamed ? id : `${id}:${String(version)}`;
  const schemas = objectOf(objectOf(objectOf(openapi_schema).components).schemas);
  const input_schema = plainSchema(schemas.Input, schemas);
  if (input_schema === null) return { model: id, reason: 'its input is not listed' };
  const kind = kindOf(objectOf(entry.default_example).output);
  if (kind === null)
    return { model: id, reason: 'its example shows no image or video, so its kind is unknown' };
  const task = taskOf(kind, id, input_schema);
  const texts = { name: id.slice(id.indexOf('/') + 1), description: text(entry.description) };
  const offer = { model, id, kind, task, ...texts, price: null, counted: '', input_schema };
  return mediaRow(offer, terms);
}

/** The kind of the first file in an example's output. */
function kindOf(output: unknown): Kind | null {
  const files = isObject(output) ? Object.values(output) : [output].flat();
  for (const file of files) {
    const [, ending = ''] = /^https?:[^?#]*\.([a-z0-9]{2,4})(?:[?#]|$)/i.exec(String(file)) ?? [];
    if (/^(png|jpe?g|webp|svg)$/i.test(ending)) return 'image';
    if (/^(mp4|webm|mov)$/i.test(ending)) return 'video';
  }
  return null;
}

function taskOf(kind: Kind, model: string, { required }: Json): string {
  if (/upscal/.test(model)) return 'upscale';
  const needs = (word: RegExp) =>
    Array.isArray(required) && required.some((name) => word.test(name));
  if (kind === 'image') return needs(/image/) ? 'edit' : 'text-to-image';
  if (needs(/video/)) return needs(/audio/) ? 'lip-sync' : 'video-edit';
  return needs(/image/) ? 'image-to-video' : 'text-to-video';
}
