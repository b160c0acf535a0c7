import type { ModelUpstream, PriceRules } from './catalog.ts';
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

type Costs = Pick<ModelUpstream, 'cost_usd_micro' | 'cost_output_usd_micro'>;

/** At the list price; of several the highest, which is what the row's cost stands beside. */
export function marginsOf(rules: PriceRules, route: Costs): Margin[] {
  const { cost_usd_micro: cost, cost_output_usd_micro: output } = route;
  if (rules.unit === '1M tokens') {
    return [
      marginAt('input', rules.input_usd_micro ?? 0n, cost),
      marginAt('output', rules.output_usd_micro ?? 0n, output ?? cost),
    ];
  }
  const highest = dearest(rules, (rate) => rate);
  return [marginAt('unit', rateOf(rules, highest), cost)];
}

/** Each rate that a unit may have, the extras left out. */
export function ratesOf(rules: PriceRules): { resolution: string | null; price: bigint }[] {
  if (rules.unit === '1M tokens') return [];
  const offered = offeredResolutions(rules);
  if (offered.length === 0) return [{ resolution: null, price: rateOf(rules, undefined) }];
  return offered.map((resolution) => ({ resolution, price: rateOf(rules, resolution) }));
}

function marginAt(of: Margin['of'], price: bigint, cost: bigint | null): Margin {
  if (cost === null) return { of, price, cost, margin: null, margin_ppm: null };
  const margin = price - cost;
  const margin_ppm = price === 0n ? null : Number((margin * 1_000_000n) / price);
  return { of, price, cost, margin, margin_ppm };
}
