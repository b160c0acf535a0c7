import { propertyOf } from './catalog-omissions.ts';
import type { Extra, Model, Resolution } from './catalog.ts';
import { unitCost, type Costs } from '../price/cost.ts';
import { promptPrices } from '../price/prompt-prices.ts';
import { costliest, offeredResolutions, rateOf } from '../price/rates.ts';

/** Compares a catalog row's price with its upstream's cost. Pure. */

export interface Margin {
  /**
   * The compared quantity: one unit of the row without extras, one with the most costly choice of
   * extras, or for text a million tokens of a kind.
   */
  of: 'unit' | 'with_extras' | 'input' | 'output' | 'cached_input' | 'cache_write';
  /** Price of one such unit, in micro-USD. */
  price: bigint;
  /** Null if the row does not state it. */
  cost: bigint | null;
  margin: bigint | null;
  /** In millionths of the price; also null if the price is 0. */
  margin_ppm: number | null;
}

export type RateMargin = Margin & { resolution: Resolution | null };
type Row = Pick<Model, 'price' | 'input_schema'>;

/**
 * The margins at the list price. If prices differ by resolution, the resolution with the highest
 * price counts.
 */
export function marginsOf(row: Row, route: Costs): Margin[] {
  const { price: rules } = row;
  const { cost_usd_micro: cost, cost_output_usd_micro: output } = route;
  if (rules.unit === '1M tokens') {
    const prices = promptPrices(rules);
    const { cost_cached_input_usd_micro: cached, cost_cache_write_usd_micro: written } = route;
    const hasCached = rules.cached_input_usd_micro !== undefined || cached !== undefined;
    const hasWritten = rules.cache_write_usd_micro !== undefined || written !== undefined;
    return [
      marginAt('input', prices.input, cost),
      marginAt('output', rules.output_usd_micro ?? 0n, output ?? cost),
      ...(hasCached ? [marginAt('cached_input', prices.cached_input, cached ?? cost)] : []),
      ...(hasWritten ? [marginAt('cache_write', prices.cache_write, written ?? cost)] : []),
    ];
  }
  return marginsAt(row, route, costliest(rules));
}

/** Every rate that a unit may have, without extras and with them, and its margin. */
export function ratesOf(row: Row, route: Costs): RateMargin[] {
  if (row.price.unit === '1M tokens') return [];
  const offered = offeredResolutions(row.price);
  return (offered.length === 0 ? [undefined] : offered).flatMap((resolution) =>
    marginsAt(row, route, resolution).map((margin) => ({
      resolution: resolution ?? null,
      ...margin,
    })),
  );
}

/**
 * If all extras state their costs, the row's cost is that of a unit without extras. Otherwise it is
 * the cost of the most costly unit, and the cost of a plain unit is unknown.
 */
function marginsAt(row: Row, route: Costs, resolution: Resolution | undefined): Margin[] {
  const rate = rateOf(row.price, resolution);
  const cost = unitCost(route, resolution);
  const { extras } = row.price;
  const adds = mostOf(row, ({ add_usd_micro }) => add_usd_micro);
  const isStated = extras.every(({ cost_usd_micro }) => cost_usd_micro !== undefined);
  if (!isStated) return [marginAt('unit', rate, null), marginAt('with_extras', rate + adds, cost)];
  const base = marginAt('unit', rate, cost);
  if (extras.length === 0) return [base];
  const costs = mostOf(row, ({ cost_usd_micro }) => cost_usd_micro!);
  return [base, marginAt('with_extras', rate + adds, cost === null ? null : cost + costs)];
}

/** The sum of the most costly choice of each option, with as many items as are allowed. */
function mostOf({ price, input_schema }: Row, amount: (extra: Extra) => bigint): bigint {
  const most = new Map<string, bigint>();
  for (const extra of price.extras) {
    const all =
      extra.kind === 'per_item' ? amount(extra) * mostItems(extra, input_schema) : amount(extra);
    if (all > (most.get(extra.field) ?? 0n)) most.set(extra.field, all);
  }
  return [...most.values()].reduce((sum, all) => sum + all, 0n);
}

/** The number of items that are paid for; 1 if the list has no maximum length. */
function mostItems(
  { field, free }: { field: string; free: number },
  schema: Model['input_schema'],
): bigint {
  const most = propertyOf(schema, field)?.maxItems;
  return typeof most === 'number' ? BigInt(Math.max(0, Math.floor(most) - free)) : 1n;
}

function marginAt(of: Margin['of'], price: bigint, cost: bigint | null): Margin {
  if (cost === null) return { of, price, cost, margin: null, margin_ppm: null };
  const margin = price - cost;
  const margin_ppm = price === 0n ? null : Number((margin * 1_000_000n) / price);
  return { of, price, cost, margin, margin_ppm };
}
