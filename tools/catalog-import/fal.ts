import { falPrice } from '../../server/src/core/catalog/vendor-price.ts';
import { isObject, objectOf } from '../../server/src/lib/json.ts';
import { mediaRow } from './row.ts';
import { plainSchema } from './schema.ts';
import {
  getJson,
  objectsIn,
  text,
  type Call,
  type FoundModel,
  type Json,
  type Terms,
  type Vendor,
} from './vendor.ts';

/** fal's limit of models in a call that returns schemas. */
const modelsOfCall = 10;

const tasks: Readonly<Record<string, { kind: 'image' | 'video'; task: string }>> = {
  'text-to-image': { kind: 'image', task: 'text-to-image' },
  'image-to-image': { kind: 'image', task: 'edit' },
  'text-to-video': { kind: 'video', task: 'text-to-video' },
  'image-to-video': { kind: 'video', task: 'image-to-video' },
  'video-to-video': { kind: 'video', task: 'video-edit' },
  'audio-to-video': { kind: 'video', task: 'talking-avatar' },
};
/** Tasks that a model's name shows better than its category does. */
const named: readonly [RegExp, task: string, kinds: string[]][] = [
  [/upscal|super-resolution/, 'upscale', ['image', 'video']],
  [/reframe|outpaint/, 'reframe', ['image', 'video']],
  [/reference-to-video/, 'reference-to-video', ['video']],
  [/lip-?sync/, 'lip-sync', ['video']],
  [/extend/, 'video-extend', ['video']],
  [/motion-control/, 'motion-control', ['video']],
];

/** Image and video models of fal. */
export const fal: Vendor = {
  source: "fal's price API",
  notes: [
    'fal lists one price for each model. Where it takes more for a higher resolution, for sound',
    "or for another mode, the field is left to the model's default: read the model's page before",
    'you offer it. Megapixels are billed whole, so such a row has the sizes of one at most.',
    'Rows are closed (additionalProperties: false): no price covers what other fields ask for.',
  ],
  async *read(call, { names, matches }, terms) {
    const models = names ?? (await listed(call)).filter(matches);
    for (let i = 0; i < models.length; i += modelsOfCall)
      yield* foundIn(call, models.slice(i, i + modelsOfCall), terms);
  },
};

type Query = [name: string, value: string][];

/** Calls fal's API for models. */
function ask({ key, options }: Call, path: string, query: Query) {
  const api = text(options.api_url) || 'https://api.fal.ai/v1';
  return getJson(`${api}${path}?${new URLSearchParams(query).toString()}`, `Key ${key}`);
}

/** The models that can be called now. */
async function listed(call: Call): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ;) {
    const page: Query = cursor === '' ? [] : [['cursor', cursor]];
    const reply = (await ask(call, '/models', [['status', 'active'], ...page])) ?? {};
    ids.push(...objectsIn(reply.models).map(({ endpoint_id }) => String(endpoint_id)));
    const next = text(reply.next_cursor);
    if (reply.has_more !== true || next === '' || next === cursor) return [...new Set(ids)];
    cursor = next;
  }
}

async function* foundIn(call: Call, models: string[], terms: Terms): AsyncGenerator<FoundModel> {
  const expanded: Query = [...endpoints(models), ['expand', 'openapi-3.0']];
  const entries = byEndpoint((await ask(call, '/models', expanded))?.models);
  const isKnown = (model: string) => isObject(entries.get(model)?.metadata);
  const prices = await pricesOf(call, models.filter(isKnown));
  for (const model of models)
    yield isKnown(model)
      ? foundOf(model, entries.get(model)!, prices.get(model), terms)
      : { model, reason: 'fal does not list it' };
}

/** One model without a price makes the whole answer a 404, so the list is then split. */
async function pricesOf(call: Call, models: string[]): Promise<Map<string, Json>> {
  if (models.length === 0) return new Map();
  const reply = await ask(call, '/models/pricing', endpoints(models));
  if (reply !== null || models.length === 1) return byEndpoint(reply?.prices);
  const each = await Promise.all(models.map((model) => pricesOf(call, [model])));
  return new Map(each.flatMap((found) => [...found]));
}

function endpoints(models: string[]): Query {
  return models.map((id) => ['endpoint_id', id]);
}

function byEndpoint(list: unknown): Map<string, Json> {
  return new Map(objectsIn(list).map((each) => [String(each.endpoint_id), each]));
}

function foundOf(model: string, entry: Json, listed: Json | undefined, terms: Terms): FoundModel {
  const price = listed ? falPrice(listed) : null;
  if (price === null) return { model, reason: 'no price in US dollars is listed for it' };
  const { category, display_name, description } = objectOf(entry.metadata);
  const found = Object.hasOwn(tasks, String(category)) ? tasks[String(category)]! : null;
  if (found === null)
    return { model, reason: `there is no task for its category, ${String(category)}` };
  const input_schema = inputOf(model, entry.openapi);
  if (input_schema === null) return { model, reason: 'its input is not listed' };
  const { kind } = found;
  const better = named.find(([word, , kinds]) => word.test(model) && kinds.includes(kind));
  const task = better?.[1] ?? found.task;
  const texts = { name: text(display_name), description: text(description) };
  const counted = text(listed?.unit);
  return mediaRow({ model, id: model, kind, task, ...texts, price, counted, input_schema }, terms);
}

/** The schema of a submit's body, from the model's OpenAPI document. */
function inputOf(model: string, openapi: unknown): Json | null {
  const { paths, components } = objectOf(openapi);
  const posts = Object.entries(objectOf(paths)).filter(([, path]) => objectOf(path).post);
  const [, own] = posts.find(([path]) => path === `/${model}`) ?? posts[0] ?? [];
  const steps = ['post', 'requestBody', 'content', 'application/json', 'schema'];
  const body = steps.reduce<unknown>((inner, step) => objectOf(inner)[step], own);
  return plainSchema(body, objectOf(objectOf(components).schemas));
}
