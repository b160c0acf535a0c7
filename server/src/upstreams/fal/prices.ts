import type { ListedPrice } from '../../core/catalog/listed-price.ts';
import { falPrice } from '../../core/catalog/vendor-price.ts';
import { isSuccess, type Reply } from '../../lib/outbound/fetch.ts';
import { isObject } from '../../lib/json.ts';
import { objectIn } from '../replies.ts';
import type { ModelTerms } from '../upstream.ts';
import { callFal, reasonOf, type Fal } from './wire.ts';

/** Reads fal's list of models, and their prices for our account. */

const timeoutMs = 20_000;
const maxBytes = 8 * 1024 * 1024;
/** Limit of pages of models, several times what fal has. */
const pagesMax = 200;
/** fal's limit of models in one price query, and our limit of the query's length. */
const idsMax = 50;
const queryMax = 1_600;

/** Prices by endpoint. Throws an Error with words for the operator. */
export async function listTerms(
  fal: Fal,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ModelTerms>> {
  const terms = new Map<string, ModelTerms>();
  for (const some of inQueries(ids))
    for (const [id, price] of await pricesOf(fal, some, signal)) terms.set(id, { price });
  return terms;
}

/** Looks a model up by name, because fal may still serve older models that it no longer lists. */
export async function hasModel(fal: Fal, id: string, signal: AbortSignal): Promise<boolean> {
  const url = `${fal.api}/models?${queryOf([id])}`;
  const reply = await callFal(fal, { url, timeoutMs, maxBytes, signal });
  if (reply.status === 404) return false;
  const { models } = (isSuccess(reply.status) ? objectIn(reply) : null) ?? {};
  if (!Array.isArray(models)) throw new Error(`its list of models: ${reasonOf(fal, reply)}`);
  // For an unknown model fal returns only its name.
  const known = models.filter(isObject).find(({ endpoint_id }) => endpoint_id === id);
  return known !== undefined && isObject(known.metadata);
}

/** The endpoints that can be called now. */
export async function listModels(fal: Fal, signal: AbortSignal): Promise<string[]> {
  const ids = new Set<string>();
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax; page++) {
    const query = new URLSearchParams({ status: 'active', ...(cursor !== null && { cursor }) });
    const url = `${fal.api}/models?${query.toString()}`;
    const reply = await callFal(fal, { url, timeoutMs, maxBytes, signal });
    const { models, has_more, next_cursor } =
      (isSuccess(reply.status) ? objectIn(reply) : null) ?? {};
    if (!Array.isArray(models)) throw new Error(`its list of models: ${reasonOf(fal, reply)}`);
    for (const { endpoint_id } of models.filter(isObject))
      if (typeof endpoint_id === 'string' && endpoint_id !== '') ids.add(endpoint_id);
    if (has_more !== true || typeof next_cursor !== 'string' || next_cursor === cursor) break;
    cursor = next_cursor;
  }
  return [...ids];
}

function* inQueries(ids: readonly string[]): Generator<string[]> {
  let some: string[] = [];
  for (const id of ids) {
    if (some.length === idsMax || queryOf([...some, id]).length > queryMax) {
      if (some.length > 0) yield some;
      some = [];
    }
    some.push(id);
  }
  if (some.length > 0) yield some;
}

function queryOf(ids: readonly string[]): string {
  return new URLSearchParams(ids.map((id): [string, string] => ['endpoint_id', id])).toString();
}

type Prices = [endpoint_id: string, ListedPrice][];

/** One unknown endpoint makes the whole query fail; the query is then split in halves. */
async function pricesOf(fal: Fal, ids: string[], signal: AbortSignal): Promise<Prices> {
  const url = `${fal.api}/models/pricing?${queryOf(ids)}`;
  const reply = await callFal(fal, { url, timeoutMs, maxBytes, signal });
  if (reply.status === 404) {
    if (ids.length === 1) return [];
    const half = ids.length >> 1;
    const first = await pricesOf(fal, ids.slice(0, half), signal);
    return [...first, ...(await pricesOf(fal, ids.slice(half), signal))];
  }
  const prices = pricesIn(reply);
  if (prices === null) throw new Error(`its prices: ${reasonOf(fal, reply)}`);
  return prices;
}

/** Null if the reply contains no list of prices. */
function pricesIn(reply: Reply): Prices | null {
  const { prices } = (isSuccess(reply.status) ? objectIn(reply) : null) ?? {};
  if (!Array.isArray(prices)) return null;
  return prices.filter(isObject).flatMap((entry): Prices => {
    const price = falPrice(entry);
    return price === null ? [] : [[String(entry.endpoint_id), price]];
  });
}

const unitsMax = 1e9;
const keptMs = 3_600_000;
const missedMs = 300_000;
const modelsMax = 2_000;
const costTimeoutMs = 5_000;

/** Micro-USD that fal charges for `units` of a model; undefined if the price is unknown. */
export type CostOf = (
  model: string,
  units: string | undefined,
  signal: AbortSignal,
) => Promise<bigint | undefined>;

/** Keeps each model's price for an hour, and the failure of a query for five minutes. */
export function costs(fal: Fal): CostOf {
  const known = new Map<string, { until: number; unit_cost: number | null }>();
  async function unitCost(model: string, signal: AbortSignal): Promise<number | null> {
    const now = fal.tools.now();
    const kept = known.get(model);
    if (kept && kept.until > now) return kept.unit_cost;
    const unit_cost = await askUnitCost(fal, model, signal);
    if (known.size >= modelsMax) known.clear();
    known.set(model, { until: now + (unit_cost === null ? missedMs : keptMs), unit_cost });
    return unit_cost;
  }
  return async (model, said, signal) => {
    const units = Number(said?.trim() || NaN);
    if (!(units >= 0 && units <= unitsMax)) return undefined;
    const cost = await unitCost(model, signal);
    return cost === null ? undefined : BigInt(Math.round(units * cost));
  };
}

/** The price of one unit in micro-USD, perhaps fractional; null if it could not be read. */
async function askUnitCost(fal: Fal, model: string, signal: AbortSignal): Promise<number | null> {
  try {
    const url = `${fal.api}/models/pricing?${queryOf([model])}`;
    const reply = await callFal(fal, { url, timeoutMs: costTimeoutMs, maxBytes, signal });
    const price = new Map(pricesIn(reply)).get(model);
    return price === undefined ? null : Number(price.cost.n) / Number(price.cost.d);
  } catch {
    signal.throwIfAborted();
    return null;
  }
}
