import type { Kind, Task } from '../../core/catalog/catalog.ts';
import type { ListedPrice } from '../../core/catalog/listed-price.ts';
import type { LeftOut, MediaOffer, Offers } from '../../core/catalog/offer.ts';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { isObject } from '../../lib/json.ts';
import { isSuccess } from '../../lib/fetch.ts';
import { plainSchema } from '../schemas.ts';
import type { UpstreamTools } from '../upstream.ts';
import { listedPrices, listModels } from './prices.ts';
import { callFal, falOf, objectIn, reasonOf } from './wire.ts';
import type { Fal } from './wire.ts';

type Json = Record<string, unknown>;

/** fal's own limit on models of which it tells the schemas at once. */
const expandedMax = 10;
const timeoutMs = 30_000;
const maxBytes = 16 * 1024 * 1024;

const tasks: Readonly<Record<string, { kind: Exclude<Kind, 'text'>; task: Task }>> = {
  'text-to-image': { kind: 'image', task: 'text-to-image' },
  'image-to-image': { kind: 'image', task: 'edit' },
  'text-to-video': { kind: 'video', task: 'text-to-video' },
  'image-to-video': { kind: 'video', task: 'image-to-video' },
  'video-to-video': { kind: 'video', task: 'video-edit' },
  'audio-to-video': { kind: 'video', task: 'talking-avatar' },
};
/** Where the name says more than fal's category. */
const named: readonly [RegExp, Task, Kind[]][] = [
  [/upscal|super-resolution/, 'upscale', ['image', 'video']],
  [/reframe|outpaint/, 'reframe', ['image', 'video']],
  [/reference-to-video/, 'reference-to-video', ['video']],
  [/lip-?sync/, 'lip-sync', ['video']],
  [/extend/, 'video-extend', ['video']],
  [/motion-control/, 'motion-control', ['video']],
];

/**
 * What fal offers, of the models that are wanted: `names`, where they are given whole, are not
 * looked for in the list. Throws an Error with words for the operator.
 */
export async function falOffers(
  settings: UpstreamSettings,
  tools: UpstreamTools,
  { names, matches }: { names: string[] | null; matches: (model: string) => boolean },
  signal: AbortSignal,
): Promise<Offers> {
  const fal = falOf(settings, tools);
  const ids = names ?? (await listModels(fal, signal)).filter(matches);
  const prices = await listedPrices(fal, ids, signal);
  const found: Offers = { offers: [], left_out: [] };
  // Schemas are long: only those that can be of use are asked for.
  for (const model of ids.filter((id) => !prices.has(id)))
    found.left_out.push({ model, reason: 'no price in US dollars is told for it' });
  const priced = ids.filter((id) => prices.has(id));
  for (let i = 0; i < priced.length; i += expandedMax) {
    const some = priced.slice(i, i + expandedMax);
    const entries = await expanded(fal, some, signal);
    for (const id of some) {
      const offer = offerOf(id, entries.get(id), prices.get(id)!);
      if ('reason' in offer) found.left_out.push(offer);
      else found.offers.push(offer);
    }
  }
  return found;
}

async function expanded(fal: Fal, ids: string[], signal: AbortSignal): Promise<Map<string, Json>> {
  const query = new URLSearchParams(ids.map((id): [string, string] => ['endpoint_id', id]));
  query.set('expand', 'openapi-3.0');
  const url = `${fal.api}/models?${query.toString()}`;
  const reply = await callFal(fal, { url, timeoutMs, maxBytes, signal });
  if (reply.status === 404) return new Map();
  const { models } = (isSuccess(reply.status) ? objectIn(reply) : null) ?? {};
  if (!Array.isArray(models)) throw new Error(`its list of models: ${reasonOf(fal, reply)}`);
  return new Map(models.filter(isObject).map((each) => [String(each.endpoint_id), each]));
}

function offerOf(model: string, entry: Json | undefined, price: ListedPrice): MediaOffer | LeftOut {
  const metadata = isObject(entry?.metadata) ? entry.metadata : null;
  if (metadata === null) return { model, reason: 'fal does not know it any more' };
  const { category, display_name, description } = metadata;
  const found = Object.hasOwn(tasks, String(category)) ? tasks[String(category)]! : null;
  if (found === null)
    return { model, reason: `its category, ${String(category)}, is no task here` };
  const input_schema = inputOf(model, entry!.openapi);
  if (input_schema === null) return { model, reason: 'its input is not told' };
  const { kind } = found;
  const better = named.find(([word, , kinds]) => word.test(model) && kinds.includes(kind));
  const task = better === undefined ? found.task : better[1];
  const texts = { name: text(display_name) || model, description: text(description) };
  return { model, id: model, kind, task, ...texts, price, input_schema };
}

/** The body of the call that makes a job, in the model's OpenAPI document. */
function inputOf(model: string, openapi: unknown): Json | null {
  if (!isObject(openapi) || !isObject(openapi.paths)) return null;
  const { paths, components } = openapi;
  const posts = Object.entries(paths).filter(([, path]) => isObject(path) && isObject(path.post));
  const own = posts.find(([path]) => path === `/${model}`) ?? posts[0];
  const body = dig(own?.[1], ['post', 'requestBody', 'content', 'application/json', 'schema']);
  const schemas = isObject(components) && isObject(components.schemas) ? components.schemas : {};
  return plainSchema(body, schemas);
}

function dig(value: unknown, path: string[]): unknown {
  return path.reduce<unknown>((inner, step) => (isObject(inner) ? inner[step] : undefined), value);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
