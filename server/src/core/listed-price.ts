/** What an upstream asks for a model, as it tells it, beside what a row takes. Pure. */

import type { PriceRules, Unit } from './catalog.ts';
import { divideUp, formatUsd } from './money.ts';
import type { Fraction } from './money.ts';

export interface ListedPrice {
  /** What it counts, as a unit of ours; null where no row can be priced by that. */
  unit: Unit | null;
  /** Its own word for what it counts. */
  counted: string;
  /** Exact micro-USD for one unit; for text, for a million prompt tokens. */
  cost: Fraction;
  /** Text: for a million completion tokens. */
  cost_output: Fraction | null;
}

/**
 * Whether both count the same. Who bills by whole megapixels takes at least one for each image, so
 * that an image is compared with one.
 */
export function isComparable({ unit }: PriceRules, listed: ListedPrice): boolean {
  return unit === listed.unit || (unit === 'image' && listed.unit === 'MP');
}

/** How the row is sold for less than its upstream asks, in words; null: it is not. */
export function lossAt(rules: PriceRules, { cost, cost_output }: ListedPrice): string | null {
  if (rules.unit === '1M tokens') {
    const input = lossOn('a million prompt tokens', rules.input_usd_micro ?? 0n, cost);
    if (input !== null || cost_output === null) return input;
    return lossOn('a million completion tokens', rules.output_usd_micro ?? 0n, cost_output);
  }
  const one = { sec: 'a second', image: 'an image', request: 'a request', MP: 'a megapixel' };
  return lossOn(one[rules.unit], lowestRate(rules), cost);
}

function lowestRate({ by_resolution, unit_price_usd_micro }: PriceRules): bigint {
  const rates = Object.values(by_resolution ?? {});
  if (unit_price_usd_micro !== undefined) rates.push(unit_price_usd_micro);
  return rates.reduce((least, rate) => (rate < least ? rate : least), rates[0] ?? 0n);
}

function lossOn(what: string, rate: bigint, { n, d }: Fraction): string | null {
  if (rate * d >= n) return null;
  const cost = formatUsd(divideUp(n, d));
  return `it is sold for ${formatUsd(rate)} USD ${what}, and its upstream asks for ${cost} USD`;
}
