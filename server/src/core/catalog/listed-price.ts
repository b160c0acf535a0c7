/** Compares a row's price with the cost that its upstream lists, or that the row states. Pure. */

import type { Model, PriceRules, Unit } from './catalog.ts';
import { marginsOf, ratesOf, type RateMargin } from './margin.ts';
import { divideUp, formatUsd, type Fraction } from '../price/money.ts';
import { hasKey } from '../../lib/records.ts';

export interface ListedPrice {
  /** The vendor's unit; null if no row can be priced by it. */
  unit: Unit | null;
  /** Exact micro-USD per unit; for text, per million prompt tokens. */
  cost: Fraction;
  /** For text: per million completion tokens. */
  cost_output: Fraction | null;
}

/**
 * Whether the row and the vendor use the same unit. A vendor that bills whole megapixels bills at
 * least one for each image, so an image is compared with one megapixel.
 */
export function isComparable({ unit }: PriceRules, listed: ListedPrice): boolean {
  return unit === listed.unit || (unit === 'image' && listed.unit === 'MP');
}

/** A sentence if the row is sold for less than its upstream's price; otherwise null. */
export function lossAt(rules: PriceRules, { cost, cost_output }: ListedPrice): string | null {
  const asks = 'its upstream asks for';
  if (rules.unit === '1M tokens') {
    const input = lossOn(tokens.input, rules.input_usd_micro ?? 0n, cost, asks);
    if (input !== null || cost_output === null) return input;
    return lossOn(tokens.output, rules.output_usd_micro ?? 0n, cost_output, asks);
  }
  return lossOn(one[rules.unit], lowestRate(rules), cost, asks);
}

/**
 * A sentence for each rate that is below the row's own stated cost. Every rate at every upstream is
 * checked, because a mistake may be in any of them.
 */
export function statedLosses(model: Model): string[] {
  const { price: rules, upstreams } = model;
  return upstreams.flatMap((route) => {
    const states = `its stated cost at ${route.upstream} is`;
    const rates =
      rules.unit === '1M tokens'
        ? marginsOf(model, route).map((each) => ({
            ...each,
            what: hasKey(tokens, each.of) ? tokens[each.of] : each.of,
          }))
        : ratesOf(model, route).map((each) => ({ ...each, what: unitWords(rules, each) }));
    return rates.flatMap(({ what, price, cost }) =>
      cost === null ? [] : (lossOn(what, price, { n: cost, d: 1n }, states) ?? []),
    );
  });
}

function unitWords({ unit }: PriceRules, { of, resolution }: RateMargin): string {
  const at = resolution === null ? '' : ` at ${resolution}`;
  const extras = of === 'with_extras' ? ' with all extras' : '';
  return `${hasKey(one, unit) ? one[unit] : unit}${at}${extras}`;
}

const tokens = {
  input: 'a million prompt tokens',
  output: 'a million completion tokens',
  cached_input: 'a million prompt tokens read from the cache',
  cache_write: 'a million prompt tokens written to the cache',
};
const one = { sec: 'a second', image: 'an image', request: 'a request', MP: 'a megapixel' };

function lowestRate({ by_resolution, unit_price_usd_micro }: PriceRules): bigint {
  const rates = Object.values(by_resolution ?? {});
  if (unit_price_usd_micro !== undefined) rates.push(unit_price_usd_micro);
  return rates.reduce((least, rate) => (rate < least ? rate : least), rates[0] ?? 0n);
}

function lossOn(what: string, rate: bigint, { n, d }: Fraction, says: string): string | null {
  if (rate * d >= n) return null;
  const cost = formatUsd(divideUp(n, d));
  return `it is sold for ${formatUsd(rate)} USD ${what}, and ${says} ${cost} USD`;
}
