import { callFal, falOf, objectIn, reasonOf } from './wire.ts';
import type { Fal } from './wire.ts';
import type { Unit } from '../../core/catalog/catalog.ts';
import type { ListedPrice } from '../../core/catalog/listed-price.ts';
import { fractionOf, USD } from '../../core/price/money.ts';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { isSuccess } from '../../lib/fetch.ts';
import type { UpstreamTools } from '../upstream.ts';

/** What fal says of its models, and of their prices for the account of our key. */

interface FalPrice {
  /** `fal-ai/flux/dev` */
  endpoint_id: string;
  /** US dollars. */
  unit_price: number;
  /** fal's word for what is counted, such as `images`, `megapixels`, `seconds`. */
  unit: string;
}

const timeoutMs = 20_000;
const maxBytes = 8 * 1024 * 1024;
/** Pages of models at most: several times as many as there are. */
const pagesMax = 200;
/** fal's own limit on one question about prices, and the room that an address has. */
const idsMax = 50;
const queryMax = 1_600;
const unitPriceMax = 1_000_000;

/**
 * Prices of these endpoints, by default of all that can be called now. One without a price in US
 * dollars is left out. Throws an Error with words for the operator.
 */
export async function listPrices(
  tools: Pick<UpstreamTools, 'fetch' | 'guarded' | 'now'>,
  settings: Pick<UpstreamSettings, 'url' | 'key' | 'options'>,
  ids?: readonly string[],
  signal: AbortSignal = new AbortController().signal,
): Promise<FalPrice[]> {
  const fal = falOf(settings, tools);
  return pricesFor(fal, ids ?? (await listModels(fal, signal)), signal);
}

async function pricesFor(fal: Fal, ids: readonly string[], signal: AbortSignal) {
  const prices: FalPrice[] = [];
  for (const some of inQueries(ids)) prices.push(...(await pricesOf(fal, some, signal)));
  return prices;
}

/** fal's words for what it counts, in the singular, as units of rows. */
const units: Readonly<Record<string, Unit>> = {
  image: 'image',
  megapixel: 'MP',
  second: 'sec',
  video: 'request',
  request: 'request',
  generation: 'request',
};

/** The same as rows are priced, by endpoint. */
export async function listedPrices(
  fal: Fal,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ListedPrice>> {
  const listed = (await pricesFor(fal, ids, signal)).map(({ endpoint_id, unit_price, unit }) => {
    const { n, d } = fractionOf(unit_price);
    const word = unit.trim().toLowerCase().replace(/s$/, '');
    const known = Object.hasOwn(units, word) ? units[word]! : null;
    const price = { unit: known, counted: unit, cost: { n: n * USD, d }, cost_output: null };
    return [endpoint_id, price] as const;
  });
  return new Map(listed);
}

/** Its list names those that can be called now; an older one may still be served. */
export async function hasModel(fal: Fal, id: string, signal: AbortSignal): Promise<boolean> {
  const url = `${fal.api}/models?${queryOf([id])}`;
  const reply = await callFal(fal, { url, timeoutMs, maxBytes, signal });
  if (reply.status === 404) return false;
  const { models } = (isSuccess(reply.status) ? objectIn(reply) : null) ?? {};
  if (!Array.isArray(models)) throw new Error(`its list of models: ${reasonOf(fal, reply)}`);
  // One that it does not know comes back with its name alone.
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

/** An endpoint that it does not know spoils the whole question, which is then asked in halves. */
async function pricesOf(fal: Fal, ids: string[], signal: AbortSignal): Promise<FalPrice[]> {
  const url = `${fal.api}/models/pricing?${queryOf(ids)}`;
  const reply = await callFal(fal, { url, timeoutMs, maxBytes, signal });
  if (reply.status === 404) {
    if (ids.length === 1) return [];
    const half = ids.length >> 1;
    const first = await pricesOf(fal, ids.slice(0, half), signal);
    return [...first, ...(await pricesOf(fal, ids.slice(half), signal))];
  }
  const { prices } = (isSuccess(reply.status) ? objectIn(reply) : null) ?? {};
  if (!Array.isArray(prices)) throw new Error(`its prices: ${reasonOf(fal, reply)}`);
  return prices.filter(isObject).flatMap(priceOf);
}

function priceOf({ endpoint_id, unit_price, unit, currency }: Record<string, unknown>): FalPrice[] {
  if (typeof endpoint_id !== 'string' || typeof unit !== 'string') return [];
  if (typeof unit_price !== 'number' || !(unit_price >= 0 && unit_price <= unitPriceMax)) return [];
  if (String(currency ?? 'USD').toUpperCase() !== 'USD') return [];
  return [{ endpoint_id, unit_price, unit }];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

const unitsMax = 1e9;
const keptMs = 3_600_000;
const missedMs = 300_000;
const modelsMax = 2_000;
const costTimeoutMs = 5_000;

/** Micro-USD that fal takes for so many of a model's units; undefined where that is not known. */
export type CostOf = (
  model: string,
  units: string | undefined,
  signal: AbortSignal,
) => Promise<bigint | undefined>;

/** Prices are asked for once an hour and model; one that cannot be had is not waited for soon. */
export function costs(fal: Fal): CostOf {
  const known = new Map<string, { until: number; unit_price: number | null }>();
  async function unitPrice(model: string, signal: AbortSignal): Promise<number | null> {
    const now = fal.tools.now();
    const kept = known.get(model);
    if (kept && kept.until > now) return kept.unit_price;
    const unit_price = await askPrice(fal, model, signal);
    if (known.size >= modelsMax) known.clear();
    known.set(model, { until: now + (unit_price === null ? missedMs : keptMs), unit_price });
    return unit_price;
  }
  return async (model, said, signal) => {
    const units = Number(said?.trim() || NaN);
    if (!(units >= 0 && units <= unitsMax)) return undefined;
    const price = await unitPrice(model, signal);
    return price === null ? undefined : BigInt(Math.round(units * price * 1e6));
  };
}

async function askPrice(fal: Fal, model: string, signal: AbortSignal): Promise<number | null> {
  try {
    const url = `${fal.api}/models/pricing?${queryOf([model])}`;
    const reply = await callFal(fal, { url, timeoutMs: costTimeoutMs, maxBytes, signal });
    const { prices } = (isSuccess(reply.status) ? objectIn(reply) : null) ?? {};
    const found = Array.isArray(prices) ? prices.filter(isObject).flatMap(priceOf) : [];
    return found.find(({ endpoint_id }) => endpoint_id === model)?.unit_price ?? null;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}
