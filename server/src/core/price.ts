/**
 * The one pricing function. The estimate, the reservation and the charge all come from here, so they cannot
 * disagree: `price` fixes a quote from the input, `charge` puts the delivered quantity into the same sum.
 *
 * Every quantity is taken exactly as written (0.1 is a tenth), all parts are summed exactly, and the sum is rounded
 * up to one micro-USD once. A line of the breakdown gets what it adds to the rounded-up running total.
 */

import type { PriceRules, Resolution, Unit } from './catalog.ts';
import { divideUp, fractionOf, shareOut } from './money.ts';
import type { Fraction } from './money.ts';
import {
  DURATION_SECONDS_MAX, PRICE_MAX_USD_MICRO, checkSize, limitOf, readAspectRatio, readCount,
  readDuration, readItems, readOption, readResolution, readSize, readTokens, unpriceable,
} from './priced-fields.ts';
import type { Input, Priceable } from './priced-fields.ts';
import { pixelsOf } from './size.ts';
import type { Size } from './size.ts';

export interface QuoteLine {
  label: string;
  /** In the quote's unit. */
  quantity: number;
  unit_price_usd_micro: bigint;
  amount_usd_micro: bigint;
}

/** A fixed price and how it came about. Kept with the request: the charge needs nothing else. */
export interface Quote {
  price_usd_micro: bigint;
  unit: Unit;
  /** All that one unit costs, extras included; for text the dearer of the two rates. */
  unit_price_usd_micro: bigint;
  quantity: number;
  /** The amounts add up to the price. */
  breakdown: QuoteLine[];
  /** What was taken for fields the caller left out, by field. */
  assumptions: Record<string, unknown>;
  /** Only where the resolution was left out and decides the rate: what one unit costs in each. */
  unit_price_by_resolution_usd_micro?: Partial<Record<Resolution, bigint>>;
}

/** What was really delivered; what the upstream does not say stays as asked. */
export interface Actual {
  /** In the quote's unit. */
  quantity?: number;
  resolution?: string;
  input_tokens?: number;
  output_tokens?: number;
}

/** Reserved for a video whose length the caller leaves open. */
const DURATION_SECONDS_DEFAULT = 5;
const MILLION = 1_000_000n;
const baseLabels = { sec: 'seconds', image: 'images', request: 'request', MP: 'megapixels' } as const;
const unitFields = { sec: 'duration_seconds', image: 'num_images', MP: 'image_size', request: 'input' };
type MediaUnit = keyof typeof baseLabels;

/** The price of one input. Throws ApiError `unpriceable`, naming the field and what is allowed; nothing else. */
export function price(model: Priceable, input: Input): Quote {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw unpriceable('input', 'must be a JSON object', { type: 'object' });
  }
  const unit = model.price.unit;
  return unit === '1M tokens' ? quoteTokens(model.price, input) : quoteMedia(model, unit, input);
}

/** Micro-USD for so many tokens, rounded up once. Throws ApiError `unpriceable` as `price` does. */
export function priceTokens(
  rules: Pick<PriceRules, 'input_usd_micro' | 'output_usd_micro'>,
  input_tokens: number, output_tokens: number,
): bigint {
  const exact = (rules.input_usd_micro ?? 0n) * BigInt(readTokens(input_tokens, 'input_tokens'))
    + (rules.output_usd_micro ?? 0n) * BigInt(readTokens(output_tokens, 'output_tokens'));
  return bounded(divideUp(exact, MILLION), 'output_tokens');
}

/**
 * What a delivered request costs: the quote's own rates times what was delivered, never above the quote.
 * A figure that is no quantity (absent, below zero, not finite) counts as delivered in full; 0 is a figure.
 */
export function charge(quote: Quote, actual: Actual): bigint {
  const spent = quote.unit === '1M tokens' ? spentTokens(quote, actual) : spentMedia(quote, actual);
  return spent < quote.price_usd_micro ? spent : quote.price_usd_micro;
}

/** The resolutions a row can be asked for, as listed. */
export function offeredResolutions(rules: PriceRules): readonly Resolution[] {
  if (rules.resolutions.length > 0 || rules.by_resolution === undefined) return rules.resolutions;
  return Object.keys(rules.by_resolution) as Resolution[];
}

/** The rate of one unit without extras. Throws ApiError `unpriceable` where the row has none. */
export function rateOf(rules: PriceRules, resolution: Resolution | undefined): bigint {
  const own = resolution === undefined ? undefined : rules.by_resolution?.[resolution];
  const rate = own ?? rules.unit_price_usd_micro;
  if (rate === undefined) throw unpriceable('resolution', 'has no price at this model');
  return rate;
}

function quoteMedia(model: Priceable, unit: MediaUnit, input: Input): Quote {
  const rules = model.price;
  const assumptions: Record<string, unknown> = {};
  const duration = readDuration(model, input);
  const count = readCount(model, input);
  const size = readSize(input, unit === 'MP');
  const offered = offeredResolutions(rules);
  const pixels = unit === 'MP' ? pixelsBy(size, readAspectRatio(input)) : undefined;
  const asked = readResolution(rules, offered, input);
  const assumed = asked === undefined ? dearest(rules, offered, pixels) : undefined;
  if (assumed !== undefined) assumptions.resolution = assumed;
  const resolution = asked ?? assumed;
  const label = resolution !== undefined && rules.by_resolution !== undefined
    ? `${baseLabels[unit]} at ${resolution}` : baseLabels[unit];
  const parts: Part[] = [{ label, rate: rateOf(rules, resolution) }];
  for (const extra of rules.extras) addExtra(parts, extra, input, assumptions);
  const quantity = unit === 'request' ? 1
    : unit === 'sec' ? duration ?? assume(assumptions, 'duration_seconds', defaultDuration(model))
    : unit === 'image' ? count ?? assume(assumptions, 'num_images', 1)
    : megapixels(model, pixels!, resolution, size, count, assumptions);
  const quote = quoteParts(unit, quantity, parts, assumptions);
  if (assumed !== undefined) addRates(quote, rules, offered, parts[0]!.rate);
  return quote;
}

interface Part {
  label: string;
  rate: bigint;
}

function quoteParts(
  unit: MediaUnit, quantity: number, parts: Part[], assumptions: Record<string, unknown>,
): Quote {
  const { n, d } = fractionOf(quantity);
  const amounts = shareOut(parts.map((part) => part.rate * n), d);
  let rate = 0n;
  let total = 0n;
  const breakdown = parts.map((part, i) => {
    rate += part.rate;
    total += amounts[i]!;
    return line(part.label, quantity, part.rate, amounts[i]!);
  });
  bounded(rate, unitFields[unit]);
  return {
    price_usd_micro: bounded(total, unitFields[unit]),
    unit, unit_price_usd_micro: rate, quantity, breakdown, assumptions,
  };
}

function quoteTokens(rules: PriceRules, input: Input): Quote {
  const input_tokens = readTokens(input.input_tokens, 'input_tokens');
  const output_tokens = readTokens(input.output_tokens, 'output_tokens');
  const inputRate = rules.input_usd_micro ?? 0n;
  const outputRate = rules.output_usd_micro ?? 0n;
  const total = priceTokens(rules, input_tokens, output_tokens);
  const first = priceTokens(rules, input_tokens, 0);
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
  };
}

function spentMedia(quote: Quote, actual: Actual): bigint {
  const rates = quote.unit_price_by_resolution_usd_micro;
  const known = rates !== undefined && actual.resolution !== undefined
    && Object.hasOwn(rates, actual.resolution);
  const rate = known ? rates[actual.resolution as Resolution]! : quote.unit_price_usd_micro;
  const { n, d } = quantityOr(actual.quantity, quote.quantity);
  return divideUp(rate * n, d);
}

function spentTokens(quote: Quote, actual: Actual): bigint {
  const [input, output] = quote.breakdown as [QuoteLine, QuoteLine];
  const perMillion = (tokens: number | undefined) => (tokens === undefined ? undefined : tokens / 1e6);
  const a = quantityOr(perMillion(actual.input_tokens), input.quantity);
  const b = quantityOr(perMillion(actual.output_tokens), output.quantity);
  const exact = input.unit_price_usd_micro * a.n * b.d + output.unit_price_usd_micro * b.n * a.d;
  return divideUp(exact, a.d * b.d);
}

/** Upstreams' replies are not to be trusted: what is no quantity must neither throw nor make it free. */
function quantityOr(value: unknown, otherwise: number): Fraction {
  const usable = typeof value === 'number' && value >= 0 && value < Infinity;
  return fractionOf(usable ? value : otherwise);
}

/**
 * For an omitted resolution: the one with the highest price, where there are several to choose from. The first
 * of equals. With a `pixels` (rows per megapixel) the size counts into the price.
 */
function dearest(
  rules: PriceRules, offered: readonly Resolution[], pixels: PixelsBy | undefined,
): Resolution | undefined {
  if (rules.by_resolution === undefined && pixels === undefined) return undefined;
  let best: Resolution | undefined;
  let most = -1n;
  for (const resolution of offered) {
    const amount = rateOf(rules, resolution) * (pixels ? BigInt(pixels(resolution)) : 1n);
    if (amount <= most) continue;
    best = resolution;
    most = amount;
  }
  return best;
}

type PixelsBy = (resolution: Resolution) => number;

function pixelsBy(size: Size | undefined, aspect_ratio: string | undefined): PixelsBy {
  return (resolution) => {
    const { width, height } = size ?? pixelsOf(resolution, aspect_ratio);
    return width * height;
  };
}

function addExtra(
  parts: Part[], extra: PriceRules['extras'][number], input: Input, assumptions: Record<string, unknown>,
): void {
  if (extra.kind === 'per_item') {
    const items = readItems(input, extra.field) - extra.free;
    if (items <= 0) return;
    const label = items === 1 ? extra.label : `${extra.label} × ${items}`;
    parts.push({ label, rate: extra.add_usd_micro * BigInt(items) });
    return;
  }
  let value = readOption(input, extra.field, extra.equals);
  if (value === undefined && extra.default !== undefined) {
    value = assume(assumptions, extra.field, extra.default);
  }
  if (value === extra.equals) parts.push({ label: extra.label, rate: extra.add_usd_micro });
}

function megapixels(
  model: Priceable, pixels: PixelsBy, resolution: Resolution | undefined, size: Size | undefined,
  count: number | undefined, assumptions: Record<string, unknown>,
): number {
  if (size === undefined && resolution === undefined) {
    throw unpriceable('image_size', 'must be given: this model is priced per megapixel');
  }
  const area = size ? size.width * size.height : pixels(resolution!);
  checkSize({ width: area, height: 1 }, size ? 'image_size' : 'aspect_ratio');
  if (size === undefined) assumptions.megapixels = area / 1e6;
  const total = (area * (count ?? assume(assumptions, 'num_images', 1))) / 1e6;
  const maximum = limitOf(model, 'megapixels', Infinity);
  if (total <= maximum) return total;
  const rule = `asks for ${total} megapixels in all; at most ${maximum} are allowed`;
  throw unpriceable(size ? 'image_size' : 'resolution', rule, { maximum });
}

function addRates(
  quote: Quote, rules: PriceRules, offered: readonly Resolution[], base: bigint,
): void {
  const extras = quote.unit_price_usd_micro - base;
  const rates: Partial<Record<Resolution, bigint>> = {};
  let several = false;
  for (const resolution of offered) {
    const rate = rateOf(rules, resolution);
    if (rate !== base) several = true;
    rates[resolution] = rate + extras;
  }
  if (several) quote.unit_price_by_resolution_usd_micro = rates;
}

function defaultDuration(model: Priceable): number {
  return Math.min(DURATION_SECONDS_DEFAULT, limitOf(model, 'seconds', DURATION_SECONDS_MAX));
}

function assume<T>(assumptions: Record<string, unknown>, field: string, value: T): T {
  assumptions[field] = value;
  return value;
}

function bounded(amount: bigint, field: string): bigint {
  if (amount <= PRICE_MAX_USD_MICRO) return amount;
  const maximum = PRICE_MAX_USD_MICRO / MILLION;
  const rule = `makes the price higher than ${maximum} USD, the most that one request may cost`;
  throw unpriceable(field, rule, { maximum_price_usd_micro: String(PRICE_MAX_USD_MICRO) });
}

function line(label: string, quantity: number, rate: bigint, amount: bigint): QuoteLine {
  return { label, quantity, unit_price_usd_micro: rate, amount_usd_micro: amount };
}
