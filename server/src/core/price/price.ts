/**
 * All prices come from here: the estimate, the reservation and the charge, so they always agree.
 * `price` fixes a quote for an input; `charge` applies the quote's rates to the delivered quantity.
 *
 * Every quantity is taken exactly as written (0.1 is a tenth). All parts are added up exactly and
 * multiplied by the account's multiplier, and the total is rounded up once, to a whole micro-USD.
 * Each line of the breakdown gets the amount that it adds to the rounded-up running total.
 */

import { isCount, isObject } from '../../lib/json.ts';
import { hasKey, keysOf } from '../../lib/records.ts';
import type { PriceRules, Resolution, Unit } from '../catalog/catalog.ts';
import { divideUp, fractionOf, shareOut, type Fraction } from './money.ts';
import {
  durationSecondsMax,
  priceMaxUsdMicro,
  limitOf,
  readAspectRatio,
  readCount,
  readDuration,
  readResolution,
  readSize,
  readTokens,
  unpriceable,
  type Input,
  type PricingRow,
} from './priced-fields.ts';
import {
  hasCachePrices,
  highestPrice,
  promptAmount,
  promptPrices,
  type CacheUse,
  type PromptPrices,
  type PromptRules,
} from './prompt-prices.ts';
import { areaOf, megapixels, pixelsFor, type PixelsOf } from './megapixels.ts';
import {
  listPpm,
  costliest,
  extraPart,
  offeredResolutions,
  rateOf,
  ratesByResolution,
  type Part,
  type Rates,
} from './rates.ts';

export interface QuoteLine {
  label: string;
  /** In the quote's unit. */
  quantity: number;
  /** The catalog's rate, before the account's multiplier. */
  unit_price_usd_micro: bigint;
  amount_usd_micro: bigint;
}

/**
 * A fixed price and how it was computed. Stored with the request: the charge needs nothing else.
 */
export interface Quote {
  price_usd_micro: bigint;
  unit: Unit;
  /** Catalog price of one unit, including extras; for text, the higher of the two rates. */
  unit_price_usd_micro: bigint;
  quantity: number;
  /** The account's multiplier, in millionths of the list price; omitted for the list price. */
  price_ppm?: number;
  /** From the row: quantities are rounded up to multiples of this. */
  step?: number;
  /** From the row: the full price is charged, whatever was delivered. */
  charged?: 'asked';
  /** The amounts add up to the price. */
  breakdown: QuoteLine[];
  /** The assumed values of omitted fields, by field. */
  assumptions: Record<string, unknown>;
  /**
   * The price of one unit in each resolution. Set only if the input leaves the resolution open and
   * rates differ by resolution.
   */
  unit_price_by_resolution_usd_micro?: Rates;
  /** Set only if prompt tokens of a cache have other prices; the highest of these is reserved. */
  input_prices_usd_micro?: PromptPrices;
}

/**
 * The delivered amounts. If the upstream does not report an amount, the requested one counts. If it
 * does not report its use of the cache, the highest price of prompt tokens counts.
 */
export interface ActualUse extends CacheUse {
  /** In the quote's unit. */
  quantity?: number;
  /** Used only if the caller did not choose a resolution. */
  resolution?: string;
  input_tokens?: number;
  output_tokens?: number;
}

/** The length to reserve for a video if the caller does not give one. */
const durationSecondsDefault = 5;
const million = 1_000_000n;

type MediaUnit = Exclude<Unit, '1M tokens'>;
const labels: Record<MediaUnit, string> = {
  sec: 'seconds',
  image: 'images',
  request: 'request',
  MP: 'megapixels',
};
/** The input field that an error names if the quantity is too large. */
const fields: Record<MediaUnit, string> = {
  sec: 'duration_seconds',
  image: 'num_images',
  request: 'input',
  MP: 'image_size',
};

/**
 * The price of an input for an account that pays `price_ppm` millionths of the list price. Throws
 * only ApiError `unpriceable`, which names the field and what is allowed.
 */
export function price(model: PricingRow, input: Input, price_ppm = listPpm): Quote {
  if (!isObject(input)) {
    throw unpriceable('input', 'must be a JSON object', { type: 'object' });
  }
  const unit = model.price.unit;
  const quote =
    unit === '1M tokens'
      ? quoteTokens(model.price, input, BigInt(price_ppm))
      : quoteMedia(model, unit, input, BigInt(price_ppm));
  return price_ppm === listPpm ? quote : { ...quote, price_ppm };
}

/**
 * The highest price of these tokens in micro-USD, rounded up once. Throws ApiError `unpriceable` as
 * `price` does.
 */
export function priceTokens(
  rules: PromptRules & Pick<PriceRules, 'output_usd_micro'>,
  input_tokens: number,
  output_tokens: number,
  ppm = million,
): bigint {
  const input = BigInt(readTokens(input_tokens, 'input_tokens'));
  const output = BigInt(readTokens(output_tokens, 'output_tokens'));
  const exact = highestPrice(promptPrices(rules)) * input + (rules.output_usd_micro ?? 0n) * output;
  return bounded(divideUp(exact * ppm, million * million), 'output_tokens');
}

/**
 * The charge for a delivered request: the quote's own rates times the delivered amounts, at most
 * the quote. A value that is not a quantity (absent, negative, not finite) counts as fully
 * delivered; 0 is a quantity.
 */
export function charge(quote: Quote, actual: ActualUse): bigint {
  const spent =
    quote.unit === '1M tokens' ? spentOnTokens(quote, actual) : spentOnMedia(quote, actual);
  // guard: charge-within-quote (off: true)
  return spent < quote.price_usd_micro ? spent : quote.price_usd_micro;
}

/**
 * The number of units to charge: the requested units if `delivered` is null or the row always
 * charges these, otherwise the delivered units, rounded up to whole steps.
 */
export function chargedQuantity(quote: Quote, delivered: number | null): number {
  if (delivered === null || quote.charged === 'asked') return quote.quantity;
  return inSteps(delivered, quote.step);
}

function inSteps(quantity: number, step: number | undefined): number {
  return step === undefined ? quantity : Math.ceil(quantity / step) * step;
}

function quoteMedia(model: PricingRow, unit: MediaUnit, input: Input, ppm: bigint): Quote {
  const rules = model.price;
  const assumptions: Record<string, unknown> = {};
  const duration = readDuration(model, input);
  const count = readCount(model, input);
  const bySize = unit === 'MP' && rules.reserve === undefined;
  const size = readSize(input, bySize);
  const pixels = bySize ? pixelsFor(size, readAspectRatio(input)) : null;
  const asked = readResolution(rules, offeredResolutions(rules), input);
  const extras = extraParts(rules, input, assumptions);
  const resolution = asked ?? assumeResolution(rules, extras, size ? null : pixels, assumptions);
  let quantity = 1;
  if (unit === 'sec' && !rules.reserve) quantity = duration ?? assumeDuration(model, assumptions);
  if (unit === 'image') quantity = count ?? assumeOne(assumptions);
  if (rules.reserve === 'max') {
    quantity = rules.max;
    assumptions[labels[unit]] = quantity;
  } else if (pixels !== null) {
    const area = areaOf(pixels, size, resolution, assumptions);
    quantity = megapixels(model, area, count ?? assumeOne(assumptions), size);
  }
  const named = resolution !== undefined && rules.by_resolution !== undefined;
  const label = named ? `${labels[unit]} at ${resolution}` : labels[unit];
  const parts = [{ label, rate: rateOf(rules, resolution) }, ...extras];
  const quote = quoteParts(unit, inSteps(quantity, rules.step), parts, ppm);
  quote.assumptions = assumptions;
  if (rules.step !== undefined) quote.step = rules.step;
  if (rules.charged !== undefined) quote.charged = rules.charged;
  if (asked === undefined) addRates(quote, rules);
  return quote;
}

function extraParts(rules: PriceRules, input: Input, assumptions: Record<string, unknown>): Part[] {
  const parts: Part[] = [];
  for (const extra of rules.extras) {
    const part = extraPart(extra, input, assumptions);
    if (part) parts.push(part);
  }
  return parts;
}

function quoteParts(unit: MediaUnit, quantity: number, parts: Part[], ppm: bigint): Quote {
  const { n, d } = fractionOf(quantity);
  const amounts = shareOut(
    parts.map((part) => part.rate * n * ppm),
    d * million,
  );
  let rate = 0n;
  let total = 0n;
  const breakdown: QuoteLine[] = [];
  for (let i = 0; i < parts.length; i++) {
    rate += parts[i]!.rate;
    total += amounts[i]!;
    breakdown.push(line(parts[i]!.label, quantity, parts[i]!.rate, amounts[i]!));
  }
  return {
    price_usd_micro: bounded(total, fields[unit]),
    unit,
    unit_price_usd_micro: bounded(rate, fields[unit]),
    quantity,
    breakdown,
    assumptions: {},
  };
}

function quoteTokens(rules: PriceRules, input: Input, ppm: bigint): Quote {
  const input_tokens = readTokens(input.input_tokens, 'input_tokens');
  const output_tokens = readTokens(input.output_tokens, 'output_tokens');
  const prices = promptPrices(rules);
  const inputRate = highestPrice(prices);
  const outputRate = rules.output_usd_micro ?? 0n;
  const total = priceTokens(rules, input_tokens, output_tokens, ppm);
  const first = priceTokens(rules, input_tokens, 0, ppm);
  return {
    price_usd_micro: total,
    unit: '1M tokens',
    unit_price_usd_micro: inputRate > outputRate ? inputRate : outputRate,
    quantity: (input_tokens + output_tokens) / 1e6,
    breakdown: [
      line('input tokens', input_tokens / 1e6, inputRate, first),
      line('output tokens', output_tokens / 1e6, outputRate, total - first),
    ],
    assumptions: {},
    ...(hasCachePrices(rules) && { input_prices_usd_micro: prices }),
  };
}

function spentOnMedia(quote: Quote, actual: ActualUse): bigint {
  const rates = quote.unit_price_by_resolution_usd_micro ?? {};
  const { resolution } = actual;
  const rate = hasKey(rates, resolution) ? rates[resolution]! : quote.unit_price_usd_micro;
  const { n, d } = fractionOf(
    chargedQuantity(quote, isQuantity(actual.quantity) ? actual.quantity : null),
  );
  return divideUp(rate * n * ppmOf(quote), d * million);
}

function spentOnTokens(quote: Quote, actual: ActualUse): bigint {
  const [input, output] = quote.breakdown;
  if (!input || !output) throw new Error('a quote in tokens has a line for each direction');
  const a = promptSpent(quote, input, actual);
  const b = quantityOr(millions(actual.output_tokens), output.quantity);
  const exact = a.n * b.d + output.unit_price_usd_micro * b.n * a.d;
  return divideUp(exact * ppmOf(quote), a.d * b.d * million);
}

/** The price of the prompt, in micro-USD. */
function promptSpent(quote: Quote, input: QuoteLine, actual: ActualUse): Fraction {
  const { input_prices_usd_micro: prices } = quote;
  const { input_tokens, cached_tokens } = actual;
  if (prices && isCount(input_tokens) && cached_tokens !== undefined)
    return { n: promptAmount(prices, input_tokens, actual), d: million };
  const { n, d } = quantityOr(millions(input_tokens), input.quantity);
  return { n: input.unit_price_usd_micro * n, d };
}

function ppmOf({ price_ppm = listPpm }: Quote): bigint {
  return BigInt(price_ppm);
}

function millions(tokens: unknown): number | undefined {
  return typeof tokens === 'number' ? tokens / 1e6 : undefined;
}

/**
 * The value if it is a quantity, else `otherwise`. An upstream's numbers are not trusted: an
 * unusable value must neither throw nor make the request free.
 */
function quantityOr(value: unknown, otherwise: number): Fraction {
  return fractionOf(isQuantity(value) ? value : otherwise);
}

function isQuantity(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Infinity;
}

/**
 * The offered resolution at which the whole request costs most. Undefined if the resolution does
 * not matter. It matters if rates differ, or if only the resolution gives the size (`pixels`).
 */
function assumeResolution(
  rules: PriceRules,
  extras: Part[],
  pixels: PixelsOf | null,
  assumptions: Record<string, unknown>,
): Resolution | undefined {
  if (rules.by_resolution === undefined && pixels === null) return undefined;
  const add = extras.reduce((sum, part) => sum + part.rate, 0n);
  const resolution = costliest(rules, (rate, name) =>
    pixels === null ? rate : (rate + add) * BigInt(pixels(name)),
  );
  if (resolution !== undefined) assumptions.resolution = resolution;
  return resolution;
}

/**
 * If the resolution is left open, the charge may use a lower rate than the quote. This shows the
 * caller what each resolution costs.
 */
function addRates(quote: Quote, rules: PriceRules): void {
  const rates = ratesByResolution(rules);
  if (rates === undefined) return;
  const extras = quote.unit_price_usd_micro - quote.breakdown[0]!.unit_price_usd_micro;
  for (const name of keysOf(rates)) rates[name]! += extras;
  quote.unit_price_by_resolution_usd_micro = rates;
}

function assumeDuration(model: PricingRow, assumptions: Record<string, unknown>): number {
  const maximum = limitOf(model, 'seconds', durationSecondsMax);
  const seconds = Math.min(durationSecondsDefault, maximum);
  assumptions.duration_seconds = seconds;
  return seconds;
}

function assumeOne(assumptions: Record<string, unknown>): number {
  assumptions.num_images = 1;
  return 1;
}

function bounded(amount: bigint, field: string): bigint {
  if (amount <= priceMaxUsdMicro) return amount;
  const maximum = priceMaxUsdMicro / million;
  const rule = `makes the price higher than ${maximum} USD, the most that one request may cost`;
  throw unpriceable(field, rule, { maximum_price_usd_micro: String(priceMaxUsdMicro) });
}

function line(label: string, quantity: number, rate: bigint, amount: bigint): QuoteLine {
  return { label, quantity, unit_price_usd_micro: rate, amount_usd_micro: amount };
}
