/** A quote as JSON: the form kept with a request, and the form that callers see. */

import { entriesOf } from '../../lib/records.ts';
import type { Resolution, Unit } from '../catalog/catalog.ts';
import type { UnknownInput } from '../catalog/model-input.ts';
import type { Quote } from './price.ts';
import type { PromptPrices } from './prompt-prices.ts';
import { listPpm, ownRate } from './rates.ts';

/** `Quote` with every amount as a decimal string of micro-USD. */
export interface QuoteJson {
  price_usd_micro: string;
  unit: Unit;
  unit_price_usd_micro: string;
  quantity: number;
  price_ppm?: number;
  step?: number;
  charged?: 'asked';
  breakdown: {
    label: string;
    quantity: number;
    unit_price_usd_micro: string;
    amount_usd_micro: string;
  }[];
  assumptions: Record<string, unknown>;
  unit_price_by_resolution_usd_micro?: Partial<Record<Resolution, string>>;
  input_prices_usd_micro?: Record<keyof PromptPrices, string>;
  /** Stored because a repeat of the submit gets exactly the same reply. */
  unknown_inputs?: UnknownInput[];
}

/** The quote, with the input fields that the model does not know. */
export function withUnknown(quote: QuoteJson, unknown: UnknownInput[]): QuoteJson {
  return unknown.length === 0 ? quote : { ...quote, unknown_inputs: unknown };
}

export function quoteToJson(quote: Quote): QuoteJson {
  const rates = quote.unit_price_by_resolution_usd_micro;
  const prices = quote.input_prices_usd_micro;
  return {
    price_usd_micro: quote.price_usd_micro.toString(),
    unit: quote.unit,
    unit_price_usd_micro: quote.unit_price_usd_micro.toString(),
    quantity: quote.quantity,
    ...rulesOf(quote),
    breakdown: quote.breakdown.map((line) => ({
      ...line,
      unit_price_usd_micro: line.unit_price_usd_micro.toString(),
      amount_usd_micro: line.amount_usd_micro.toString(),
    })),
    assumptions: quote.assumptions,
    ...(rates && {
      unit_price_by_resolution_usd_micro: mapValues(rates, (rate) => rate.toString()),
    }),
    ...(prices && { input_prices_usd_micro: mapPrices(prices, (rate) => rate.toString()) }),
  };
}

/** Reads back what `quoteToJson` wrote. */
export function quoteFromJson(json: QuoteJson): Quote {
  const rates = json.unit_price_by_resolution_usd_micro;
  const prices = json.input_prices_usd_micro;
  return {
    price_usd_micro: BigInt(json.price_usd_micro),
    unit: json.unit,
    unit_price_usd_micro: BigInt(json.unit_price_usd_micro),
    quantity: json.quantity,
    ...rulesOf(json),
    breakdown: json.breakdown.map((line) => ({
      ...line,
      unit_price_usd_micro: BigInt(line.unit_price_usd_micro),
      amount_usd_micro: BigInt(line.amount_usd_micro),
    })),
    assumptions: json.assumptions,
    ...(rates && { unit_price_by_resolution_usd_micro: mapValues(rates, BigInt) }),
    ...(prices && { input_prices_usd_micro: mapPrices(prices, BigInt) }),
  };
}

/** The fields that a quote has only if its row or its account sets them. */
function rulesOf({ price_ppm, step, charged }: Pick<Quote, 'price_ppm' | 'step' | 'charged'>) {
  return {
    ...(price_ppm !== undefined && { price_ppm }),
    ...(step !== undefined && { step }),
    ...(charged !== undefined && { charged }),
  };
}

/** A quote as callers see it, with the account's multiplier applied to its rates. */
export type ShownQuote = Omit<QuoteJson, 'price_ppm' | 'step' | 'charged'> & {
  price_multiplier?: number;
};

/**
 * The quote as callers see it: at the account's own rates, so that each rate times its quantity is
 * the amount.
 */
export function shownQuote({
  price_ppm = listPpm,
  step: _step,
  charged: _charged,
  ...quote
}: QuoteJson): ShownQuote {
  if (price_ppm === listPpm) return quote;
  const own = (rate: string) => ownRate(BigInt(rate), price_ppm).toString();
  const rates = quote.unit_price_by_resolution_usd_micro;
  const prices = quote.input_prices_usd_micro;
  return {
    ...quote,
    unit_price_usd_micro: own(quote.unit_price_usd_micro),
    price_multiplier: price_ppm / listPpm,
    breakdown: quote.breakdown.map((line) => ({
      ...line,
      unit_price_usd_micro: own(line.unit_price_usd_micro),
    })),
    ...(rates && { unit_price_by_resolution_usd_micro: mapValues(rates, own) }),
    ...(prices && { input_prices_usd_micro: mapPrices(prices, own) }),
  };
}

type ByResolution<T> = Partial<Record<Resolution, T>>;

function mapValues<A, B>(rates: ByResolution<A>, map: (value: A) => B): ByResolution<B> {
  return Object.fromEntries(entriesOf(rates).map(([name, value]) => [name, map(value)]));
}

function mapPrices<A, B>(
  { input, cached_input, cache_write }: Record<keyof PromptPrices, A>,
  map: (value: A) => B,
): Record<keyof PromptPrices, B> {
  return { input: map(input), cached_input: map(cached_input), cache_write: map(cache_write) };
}
