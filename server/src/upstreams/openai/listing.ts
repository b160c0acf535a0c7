import { isDay } from '../../core/catalog/checked-on.ts';
import { openrouterPrice } from '../../core/catalog/vendor-price.ts';
import { FetchError, isSuccess, type Reply } from '../../lib/outbound/fetch.ts';
import { isObject, objectOf, type Json } from '../../lib/json.ts';
import { jsonOf, messageIn } from '../replies.ts';
import type { ModelTerms } from '../upstream.ts';
import type { OpenaiOptions } from './options.ts';
import type { OpenaiWire } from './wire.ts';

/** Calls that cost nothing: a server's list of its models, and whether our key works. */

/** Large, because OpenRouter lists hundreds of models with descriptions. */
const maxBytes = 32 * 1024 * 1024;
const timeoutMs = 30_000;

function asked(wire: OpenaiWire, path: string, signal: AbortSignal): Promise<Reply> {
  return wire.request(path, { maxBytes, timeoutMs, signal });
}

/** Throws if the list cannot be fetched or read. */
async function readList(wire: OpenaiWire, path: string, signal: AbortSignal): Promise<Json[]> {
  const reply = await asked(wire, path, signal);
  const value = jsonOf(reply.body);
  if (!isSuccess(reply.status))
    throw new Error(wire.clean(messageIn(value) ?? `answered ${reply.status}`));
  // Together (together.ai) returns a bare list.
  const list = isObject(value) ? value.data : value;
  if (!Array.isArray(list)) throw new Error('its list of models could not be read');
  return list.filter(isObject);
}

/** The server's own names of the models in its list at `path`. */
export async function listModels(
  wire: OpenaiWire,
  path: string,
  signal: AbortSignal,
  { videos }: Partial<Pick<OpenaiOptions, 'videos'>> = {},
): Promise<string[]> {
  const models = await readList(wire, path, signal);
  // OpenRouter lists video models separately. A key that may not use them may use other models.
  if (videos === 'openrouter')
    models.push(...(await readList(wire, '/videos/models', signal).catch(() => [])));
  signal.throwIfAborted();
  return models.map(({ id }) => id).filter((id) => typeof id === 'string');
}

/** OpenRouter accepts these endings after any model's name, but does not list them. */
const variants = /:(?:nitro|floor|online|exacto|extended|thinking)$/;

/** Asks for one model by name, because OpenRouter's list contains only models that write text. */
export async function hasModel(
  wire: OpenaiWire,
  model: string,
  signal: AbortSignal,
): Promise<boolean> {
  const name = model.replace(variants, '').split('/').map(encodeURIComponent).join('/');
  const reply = await asked(wire, `/models/${name}/endpoints`, signal);
  if (reply.status === 404) return false;
  const value = jsonOf(reply.body);
  if (isSuccess(reply.status) && isObject(objectOf(value).data)) return true;
  throw new Error(wire.clean(messageIn(value) ?? `answered ${reply.status} without the model`));
}

/** Prices, listed by OpenRouter, and days of shutdown, listed by OpenAI and OpenRouter. */
export async function listTerms(
  wire: OpenaiWire,
  models: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ModelTerms>> {
  const wanted = new Set(models);
  const terms = new Map<string, ModelTerms>();
  for (const entry of await readList(wire, '/models', signal)) {
    const { id, pricing, shutdown_date, expiration_date } = entry;
    if (typeof id !== 'string' || !wanted.has(id)) continue;
    const price = openrouterPrice(pricing);
    const day = String(shutdown_date ?? expiration_date ?? '').slice(0, 10);
    terms.set(id, {
      ...(typeof price === 'object' && { price }),
      ...(isDay(day) && { shutdown: day }),
    });
  }
  return terms;
}

/** Tries our key with a call that costs nothing. Null: it works; otherwise what is wrong. */
export async function checkKey(
  wire: OpenaiWire,
  path: string,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const reply = await asked(wire, path, signal);
    const value = jsonOf(reply.body);
    if (!isSuccess(reply.status)) {
      const said = messageIn(value);
      return wire.clean(`answered ${reply.status}${said === null ? '' : `: ${said}`}`);
    }
    if (value === undefined) return 'its answer is not JSON: is the address right?';
    // OpenRouter reports what is left of a key's spending limit.
    const { limit_remaining: left } = objectOf(objectOf(value).data);
    return typeof left === 'number' && left <= 0 ? 'the credit of its key is used up' : null;
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    return wire.clean(error.message);
  }
}
