/** Reads prices from the JSON of vendors' price lists. Pure. */

import { isObject, type Json } from '../../lib/json.ts';
import type { Unit } from './catalog.ts';
import type { ListedPrice } from './listed-price.ts';
import { fractionOf, parseDecimal, microPerUsd, type Fraction } from '../price/money.ts';

/** fal's names for its units, in the singular. */
const falUnits: ReadonlyMap<string, Unit> = new Map([
  ['image', 'image'],
  ['megapixel', 'MP'],
  ['second', 'sec'],
  ['video', 'request'],
  ['request', 'request'],
  ['generation', 'request'],
]);
const unitPriceMax = 1_000_000;

/** An entry of fal's price list; null if it has no price in US dollars. */
export function falPrice({ unit_price, unit, currency }: Json): ListedPrice | null {
  if (typeof unit !== 'string' || typeof unit_price !== 'number') return null;
  if (!(unit_price >= 0 && unit_price <= unitPriceMax)) return null;
  if (String(currency ?? 'USD').toUpperCase() !== 'USD') return null;
  const { n, d } = fractionOf(unit_price);
  const word = unit.trim().toLowerCase().replace(/s$/, '');
  return { unit: falUnits.get(word) ?? null, cost: { n: n * microPerUsd, d }, cost_output: null };
}

interface TokenPrice extends ListedPrice {
  cost_output: Fraction;
  /** Prompts with at least this many tokens cost more; null: no prompt does. */
  dearer_from: number | null;
}

/** In US dollars: a higher price for one token is a mistake in the list. */
const perTokenMax = 1n;
/** Converts US dollars per token to micro-USD per million tokens. */
const perMillion = 1_000_000n * microPerUsd;

/**
 * Reads OpenRouter's `pricing`: strings in US dollars per token. Returns a sentence instead if the
 * price does not depend only on the tokens.
 */
export function openrouterPrice(pricing: unknown): TokenPrice | string {
  if (!isObject(pricing)) return 'its price is not listed';
  const base = ratesIn(pricing);
  if (base === null)
    return 'its price is not listed, or it is a router whose price depends on the model it chooses';
  if (isCharged(pricing.request)) return 'each call has a price in addition to its tokens';
  let { input, output } = base;
  let dearer_from: number | null = null;
  for (const override of Array.isArray(pricing.overrides) ? pricing.overrides : []) {
    const found = isObject(override) ? overrideOf(override, pricing) : null;
    if (found === null) return 'it has further prices that could not be read';
    if (found.from !== null) dearer_from = Math.min(dearer_from ?? Infinity, found.from);
    // A higher price at certain hours counts at all hours, so that the row's price always covers
    // it.
    else [input, output] = [larger(input, found.input), larger(output, found.output)];
  }
  return { unit: '1M tokens', cost: input, cost_output: output, dearer_from };
}

/** Rates under a condition. `from` is set if the only condition is the length of the prompt. */
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
  // Our bill counts reasoning as completion, so the higher of the two rates applies.
  const reasoning = rateOf(pricing.internal_reasoning);
  return { input, output: reasoning === null ? completion : larger(completion, reasoning) };
}

function rateOf(value: unknown): Fraction | null {
  try {
    const { n, d } = parseDecimal(String(value));
    return n > perTokenMax * d ? null : { n: n * perMillion, d };
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
