/** A quote as JSON: the wire form of an estimate, and the form kept with a request. */

import type { Resolution, Unit } from './catalog.ts';
import type { Quote } from './price.ts';

/** `Quote` with every amount as a decimal text of micro-USD. */
export interface QuoteJson {
  price_usd_micro: string;
  unit: Unit;
  unit_price_usd_micro: string;
  quantity: number;
  breakdown: {
    label: string;
    quantity: number;
    unit_price_usd_micro: string;
    amount_usd_micro: string;
  }[];
  assumptions: Record<string, unknown>;
  unit_price_by_resolution_usd_micro?: Partial<Record<Resolution, string>>;
}

export function quoteToJson(quote: Quote): QuoteJson {
  const rates = quote.unit_price_by_resolution_usd_micro;
  return {
    price_usd_micro: quote.price_usd_micro.toString(),
    unit: quote.unit,
    unit_price_usd_micro: quote.unit_price_usd_micro.toString(),
    quantity: quote.quantity,
    breakdown: quote.breakdown.map((line) => ({
      ...line,
      unit_price_usd_micro: line.unit_price_usd_micro.toString(),
      amount_usd_micro: line.amount_usd_micro.toString(),
    })),
    assumptions: quote.assumptions,
    ...(rates && {
      unit_price_by_resolution_usd_micro: mapValues(rates, (rate) => rate.toString()),
    }),
  };
}

/** Reads back what `quoteToJson` wrote. */
export function quoteFromJson(json: QuoteJson): Quote {
  const rates = json.unit_price_by_resolution_usd_micro;
  return {
    price_usd_micro: BigInt(json.price_usd_micro),
    unit: json.unit,
    unit_price_usd_micro: BigInt(json.unit_price_usd_micro),
    quantity: json.quantity,
    breakdown: json.breakdown.map((line) => ({
      ...line,
      unit_price_usd_micro: BigInt(line.unit_price_usd_micro),
      amount_usd_micro: BigInt(line.amount_usd_micro),
    })),
    assumptions: json.assumptions,
    ...(rates && { unit_price_by_resolution_usd_micro: mapValues(rates, BigInt) }),
  };
}

type ByResolution<T> = Partial<Record<Resolution, T>>;

function mapValues<A, B>(rates: ByResolution<A>, map: (value: A) => B): ByResolution<B> {
  const entries = Object.entries(rates).map(([name, value]) => [name, map(value as A)]);
  return Object.fromEntries(entries) as ByResolution<B>;
}
