/** The price of one unit: the rate of a resolution, and what extras add to it. */

import { keysOf } from '../../lib/records.ts';
import type { Extra, PriceRules, Resolution } from '../catalog/catalog.ts';
import { divideUp } from './money.ts';
import { readItems, readOption, unpriceable, type Input } from './priced-fields.ts';

/** One part of the rate of a unit. */
export interface Part {
  label: string;
  rate: bigint;
}

export type Rates = Partial<Record<Resolution, bigint>>;

/** The list price as a multiplier, in millionths. */
export const listPpm = 1_000_000;

/**
 * A catalog rate as shown to an account that pays `price_ppm` millionths of it, rounded up to whole
 * micro-USD. Amounts are computed from the exact rate.
 */
export function ownRate(rate: bigint, price_ppm: number): bigint {
  return divideUp(rate * BigInt(price_ppm), BigInt(listPpm));
}

/** The resolutions that a row can be asked for, in the listed order. */
export function offeredResolutions(rules: PriceRules): readonly Resolution[] {
  if (rules.resolutions.length > 0 || rules.by_resolution === undefined) return rules.resolutions;
  return keysOf(rules.by_resolution);
}

/**
 * The rate of one unit without extras. Throws ApiError `unpriceable` if the row has no rate for the
 * resolution.
 */
export function rateOf(rules: PriceRules, resolution: Resolution | undefined): bigint {
  const own = resolution === undefined ? undefined : rules.by_resolution?.[resolution];
  const rate = own ?? rules.unit_price_usd_micro;
  if (rate === undefined) throw unpriceable('resolution', 'has no price at this model');
  return rate;
}

/** The rate of every offered resolution if they differ; undefined if all have the same. */
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

/** The offered resolution with the highest `cost`, or rate; the first one if several are equal. */
export function costliest(
  rules: PriceRules,
  cost: (rate: bigint, resolution: Resolution) => bigint = (rate) => rate,
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

/**
 * The part that an extra adds to the rate for this input, or null. A default that replaces an
 * omitted field is added to `assumptions`.
 */
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

/**
 * How many times an extra is added for this input. A default that replaces an omitted field
 * is added to `assumptions`.
 */
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
