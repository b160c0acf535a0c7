import { isDay } from '../../core/catalog/checked-on.ts';
import type { ListedPrice } from '../../core/catalog/listed-price.ts';
import { parseDecimal, type Fraction } from '../../core/price/money.ts';
import { isObject, type Json } from '../../lib/json.ts';
import { isSuccess } from '../../lib/fetch.ts';
import { jsonOf, messageIn } from '../replies.ts';
import type { Options } from './options.ts';
import type { Wire } from './wire.ts';

/** What a server tells of its models; only OpenRouter tells prices among it. */

/** OpenRouter lists hundreds, each with its story. */
export const listMaxBytes = 32 * 1024 * 1024;
export const callMs = 30_000;

/** Throws where it cannot be asked, or its list cannot be read. */
export async function readList(wire: Wire, path: string, signal: AbortSignal): Promise<Json[]> {
  const reply = await wire.request(path, { maxBytes: listMaxBytes, timeoutMs: callMs, signal });
  const value = jsonOf(reply.body);
  if (!isSuccess(reply.status))
    throw new Error(wire.clean(messageIn(value) ?? `answered ${reply.status}`));
  // Together gives the list itself.
  const list = isObject(value) ? value.data : value;
  if (!Array.isArray(list)) throw new Error('its list of models could not be read');
  return list.filter(isObject);
}

/** Its names of its models. */
export async function listModels(
  wire: Wire,
  { videos }: Pick<Options, 'videos'>,
  signal: AbortSignal,
): Promise<string[]> {
  const models = await readList(wire, '/models', signal);
  // OpenRouter has a list of its own for them.
  if (videos === 'openrouter') models.push(...(await readVideos(wire, signal)));
  return models.map(({ id }) => id).filter((id) => typeof id === 'string');
}

/** A key may be kept from videos, which says nothing of the other models. */
function readVideos(wire: Wire, signal: AbortSignal): Promise<Json[]> {
  return readList(wire, '/videos/models', signal).catch(() => {
    signal.throwIfAborted();
    return [];
  });
}

/** OpenRouter takes these behind any model's name, and lists none of them. */
const variants = /:(?:nitro|floor|online|exacto|extended|thinking)$/;

/** OpenRouter lists models that write text; others, such as those for images, it has as well. */
export async function hasModel(wire: Wire, model: string, signal: AbortSignal): Promise<boolean> {
  const name = model.replace(variants, '').split('/').map(encodeURIComponent).join('/');
  const call = { maxBytes: listMaxBytes, timeoutMs: callMs, signal };
  const reply = await wire.request(`/models/${name}/endpoints`, call);
  if (reply.status === 404) return false;
  const value = jsonOf(reply.body);
  if (isSuccess(reply.status) && isObject(value) && isObject(value.data)) return true;
  throw new Error(wire.clean(messageIn(value) ?? `answered ${reply.status} without the model`));
}

export async function listPrices(
  wire: Wire,
  models: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ListedPrice>> {
  const wanted = new Set(models);
  const prices = new Map<string, ListedPrice>();
  for (const { id, pricing } of await readList(wire, '/models', signal)) {
    if (typeof id !== 'string' || !wanted.has(id)) continue;
    const listed = tokenPrice(pricing);
    if (typeof listed === 'object') prices.set(id, listed);
  }
  return prices;
}

/** OpenAI tells a day as `shutdown_date`, OpenRouter as `expiration_date`. */
export async function listShutdowns(
  wire: Wire,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const days = new Map<string, string>();
  for (const { id, shutdown_date, expiration_date } of await readList(wire, '/models', signal)) {
    const day = String(shutdown_date ?? expiration_date ?? '').slice(0, 10);
    if (typeof id === 'string' && isDay(day)) days.set(id, day);
  }
  return days;
}

export interface TokenPrice extends ListedPrice {
  cost_output: Fraction;
  /** Prompts of so many tokens and more cost more; null: none do. */
  dearer_from: number | null;
}

const counted = 'tokens';
/** In US dollars for a token; a model that costs more is a slip. */
const perTokenMax = 1;
/** Micro-USD for a million tokens, of US dollars for one. */
const perMillion = 1_000_000n * 1_000_000n;

/**
 * OpenRouter's `pricing`, US dollars for a token as texts. A text: why no price for tokens alone
 * follows from it.
 */
export function tokenPrice(pricing: unknown): TokenPrice | string {
  if (!isObject(pricing)) return 'no price is told for it';
  const base = ratesIn(pricing);
  if (base === null) return 'its price is not told, or depends on what it hands the call to';
  if (isCharged(pricing.request)) return 'each call of it costs extra, beside its tokens';
  let { input, output } = base;
  let dearer_from: number | null = null;
  for (const override of Array.isArray(pricing.overrides) ? pricing.overrides : []) {
    const found = isObject(override) ? overrideOf(override, pricing) : null;
    if (found === null) return 'it has further prices that could not be read';
    if (found.from !== null) dearer_from = Math.min(dearer_from ?? Infinity, found.from);
    // A price of certain hours is to be covered at any hour.
    else [input, output] = [larger(input, found.input), larger(output, found.output)];
  }
  return { unit: '1M tokens', counted, cost: input, cost_output: output, dearer_from };
}

/** What it costs under a condition; with `from` the condition is the length of the prompt alone. */
function overrideOf(override: Json, base: Json) {
  const { min_prompt_tokens: from, utc_start, utc_end } = override;
  const rates = ratesIn({ ...base, ...override });
  if (rates === null || isCharged(override.request)) return null;
  const isLength = Number.isSafeInteger(from) && Number(from) > 1;
  const isHours = utc_start !== undefined || utc_end !== undefined;
  return { ...rates, from: isLength && !isHours ? Number(from) : null };
}

function ratesIn(pricing: Json): { input: Fraction; output: Fraction } | null {
  const input = rateOf(pricing.prompt);
  const completion = rateOf(pricing.completion);
  if (input === null || completion === null) return null;
  // Thinking is billed as completion by us, whatever it costs there.
  const thinking = rateOf(pricing.internal_reasoning);
  return { input, output: thinking === null ? completion : larger(completion, thinking) };
}

function rateOf(value: unknown): Fraction | null {
  try {
    const { n, d } = parseDecimal(String(value));
    return n > BigInt(perTokenMax) * d ? null : { n: n * perMillion, d };
  } catch {
    return null;
  }
}

function isCharged(value: unknown): boolean {
  return value !== undefined && value !== null && Number(value) !== 0;
}

function larger(a: Fraction, b: Fraction): Fraction {
  return a.n * b.d >= b.n * a.d ? a : b;
}
