/** The price of one unit: the rate of a resolution, and what extras add to it. */

import { keysOf } from '../../lib/records.ts';
import type { Extra, PriceRules, Resolution } from '../catalog/catalog.ts';
import { divideUp } from './money.ts';
import { readItems, readOption, unpriceable } from './priced-fields.ts';
import type { Input } from './priced-fields.ts';

/** One line of the rate of a unit. */
export interface Part {
  label: string;
  rate: bigint;
}

export type Rates = Partial<Record<Resolution, bigint>>;

/** The list price, in millionths of it. */
export const LIST_PPM = 1_000_000;

/**
 * A rate of the catalog as it is shown to an account that pays `price_ppm` millionths of it: parts
 * of a micro-USD are rounded up. Amounts come from the exact one.
 */
export function ownRate(rate: bigint, price_ppm: number): bigint {
  return divideUp(rate * BigInt(price_ppm), BigInt(LIST_PPM));
}

/** The resolutions a row can be asked for, as listed. */
export function offeredResolutions(rules: PriceRules): readonly Resolution[] {
  if (rules.resolutions.length > 0 || rules.by_resolution === undefined) return rules.resolutions;
  return keysOf(rules.by_resolution);
}

/** The rate of one unit without extras. Throws ApiError `unpriceable` if the row has none. */
export function rateOf(rules: PriceRules, resolution: Resolution | undefined): bigint {
  const own = resolution === undefined ? undefined : rules.by_resolution?.[resolution];
  const rate = own ?? rules.unit_price_usd_micro;
  if (rate === undefined) throw unpriceable('resolution', 'has no price at this model');
  return rate;
}

/** The rate of every offered resolution if they differ; undefined if one price applies to all. */
export function ratesByResolution(rules: PriceRules): Rates | undefined {
  if (rules.by_resolution === undefined) return undefined;
  const rates: Rates = {};
  let first: bigint | undefined;
  let several = false;
  for (const resolution of offeredResolutions(rules)) {
    const rate = rateOf(rules, resolution);
    first ??= rate;
    several ||= rate !== first;
    rates[resolution] = rate;
  }
  return several ? rates : undefined;
}

/** The offered resolution with the highest `cost`, the first of equals. */
export function costliest(
  rules: PriceRules,
  cost: (rate: bigint, resolution: Resolution) => bigint,
): Resolution | undefined {
  let best: Resolution | undefined;
  let most = -1n;
  for (const resolution of offeredResolutions(rules)) {
    const amount = cost(rateOf(rules, resolution), resolution);
    if (amount <= most) continue;
    best = resolution;
    most = amount;
  }
  return best;
}

/** The amount an extra adds for this input, or null. Records a default it had to assume. */
export function extraPart(
  extra: Extra,
  input: Input,
  assumptions: Record<string, unknown>,
): Part | null {
  const times = extraTimes(extra, input, assumptions);
  if (times === 0) return null;
  const label = times === 1 ? extra.label : `${extra.label} × ${times}`;
  return { label, rate: extra.add_usd_micro * BigInt(times) };
}

/** How often an extra adds for this input. Records a default it had to assume. */
export function extraTimes(
  extra: Extra,
  input: Input,
  assumptions: Record<string, unknown> = {},
): number {
  if (extra.kind === 'per_item') return Math.max(0, readItems(input, extra.field) - extra.free);
  let value = readOption(input, extra.field, extra.equals);
  if (value === undefined && extra.default !== undefined) {
    value = extra.default;
    assumptions[extra.field] = value;
  }
  return value === extra.equals ? 1 : 0;
}
