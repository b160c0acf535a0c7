import type { PriceRules, Resolution } from './catalog.ts';
import { unitCost, type Costs } from './cost.ts';
import { dearest, offeredResolutions, rateOf } from './rates.ts';

/** What a row of the catalog is sold for, what its upstream takes, and what is left. Pure. */

export interface Margin {
  /** What is counted: the row's unit; of text a million tokens of one sort. */
  of: 'unit' | 'input' | 'output';
  /** Micro-USD for one of them. */
  price: bigint;
  /** Null: the row does not tell it. */
  cost: bigint | null;
  margin: bigint | null;
  /** Millionths of the price; null also where the price is 0. */
  margin_ppm: number | null;
}

/** At the list price; of several the highest, and what that one costs. */
export function marginsOf(rules: PriceRules, route: Costs): Margin[] {
  const { cost_usd_micro: cost, cost_output_usd_micro: output } = route;
  if (rules.unit === '1M tokens') {
    return [
      marginAt('input', rules.input_usd_micro ?? 0n, cost),
      marginAt('output', rules.output_usd_micro ?? 0n, output ?? cost),
    ];
  }
  const highest = dearest(rules, (rate) => rate);
  return [marginAt('unit', rateOf(rules, highest), unitCost(route, highest))];
}

/** Each rate that a unit may have, the extras left out, with what is left of it. */
export function ratesOf(
  rules: PriceRules,
  route: Costs,
): (Margin & { resolution: Resolution | null })[] {
  if (rules.unit === '1M tokens') return [];
  const offered = offeredResolutions(rules);
  return (offered.length === 0 ? [undefined] : offered).map((resolution) => ({
    resolution: resolution ?? null,
    ...marginAt('unit', rateOf(rules, resolution), unitCost(route, resolution)),
  }));
}

function marginAt(of: Margin['of'], price: bigint, cost: bigint | null): Margin {
  if (cost === null) return { of, price, cost, margin: null, margin_ppm: null };
  const margin = price - cost;
  const margin_ppm = price === 0n ? null : Number((margin * 1_000_000n) / price);
  return { of, price, cost, margin, margin_ppm };
}
