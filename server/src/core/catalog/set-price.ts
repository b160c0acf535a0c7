/** A list price that an operator sets in place of the file's. Pure. */

import { keysOf } from '../../lib/records.ts';
import { ApiError } from '../errors.ts';
import { formatUsd, parseUsd, toUsdNumber } from '../price/money.ts';
import { priceMaxUsdMicro } from '../price/priced-fields.ts';
import type { Model, PriceRules, Resolution } from './catalog.ts';

/**
 * Decimal US dollars of a unit: `usd`, or by resolution, with `usd` for the others; of text for
 * each kind of token.
 */
export type SetPrice = Record<string, string>;

/** As calls have it: US dollars of a unit, or by the names of `SetPrice` and `unit`. */
export type PriceForm = number | string | Record<string, number | string>;

type Row = Pick<Model, 'kind' | 'price'>;

const tokens = ['input', 'output', 'cached_input', 'cache_write'] as const;

/** Throws `bad_request` with the reason `price_invalid` if the row cannot have the price. */
export function readPrice(row: Row, form: PriceForm): SetPrice {
  const { unit = row.price.unit, ...rates } = typeof form === 'object' ? form : { usd: form };
  if (unit !== row.price.unit)
    throw invalid(`unit must be ${row.price.unit}, the unit of this row, or be left out`);
  const entries = Object.entries(rates).map(([name, rate]) => [name, readRate(name, rate)]);
  const price = Object.fromEntries(entries);
  const fault = priceFault(row, price);
  if (fault !== null) throw invalid(fault);
  return price;
}

function readRate(name: string, rate: number | string): string {
  const of = name === 'usd' ? 'the price' : name;
  let micro: bigint;
  try {
    micro = parseUsd(String(rate));
  } catch {
    throw invalid(`${of} must be US dollars from 0 with at most 6 decimals, such as 0.0125`);
  }
  if (micro > priceMaxUsdMicro)
    throw invalid(`${of} must be at most ${formatUsd(priceMaxUsdMicro)} US dollars`);
  return formatUsd(micro);
}

/** Why the row cannot have this price, for example since its file has changed; null if it can. */
export function priceFault({ kind, price: rules }: Row, price: SetPrice): string | null {
  const names = Object.keys(price);
  const allowed: readonly string[] = kind === 'text' ? tokens : ['usd', ...rules.resolutions];
  const unknown = names.find((name) => !allowed.includes(name));
  if (unknown !== undefined)
    return `${unknown} has no price at this row; it takes ${allowed.join(', ')}`;
  const needed: readonly string[] = kind === 'text' ? ['input', 'output'] : rules.resolutions;
  const missing = needed.filter((name) => !names.includes(name));
  if (kind === 'text')
    return missing.length === 0 ? null : `the price of ${missing.join(' and ')} is missing`;
  if (names.includes('usd'))
    return missing.length > 0 || needed.length === 0
      ? null
      : 'usd is never used, since every resolution has its price; leave it out';
  return missing.length === 0 && needed.length > 0
    ? null
    : `the price of ${missing.join(', ') || 'the unit'} is missing`;
}

/** The rules with this price, which the row can have. */
export function withPrice(rules: PriceRules, price: SetPrice): PriceRules {
  const {
    unit_price_usd_micro: _unit,
    by_resolution: _rates,
    input_usd_micro: _input,
    output_usd_micro: _output,
    cached_input_usd_micro: _cached,
    cache_write_usd_micro: _written,
    ...others
  } = rules;
  const { usd, ...rates } = price;
  if (rules.unit === '1M tokens') {
    const own = tokens.filter((name) => rates[name] !== undefined);
    return {
      ...others,
      ...Object.fromEntries(own.map((name) => [`${name}_usd_micro`, parseUsd(rates[name]!)])),
    };
  }
  const by = keysOf<Resolution>(rates).map((name) => [name, parseUsd(rates[name]!)]);
  return {
    ...others,
    ...(usd !== undefined && { unit_price_usd_micro: parseUsd(usd) }),
    ...(by.length > 0 && { by_resolution: Object.fromEntries(by) }),
  };
}

/** The price of these rules in the form in which it is set. */
export function priceOf(rules: PriceRules): SetPrice {
  const { unit_price_usd_micro: usd, by_resolution = {} } = rules;
  const rates = tokens.map((name) => [name, rules[`${name}_usd_micro`]] as const);
  const all = [['usd', usd] as const, ...Object.entries(by_resolution), ...rates];
  return Object.fromEntries(
    all.flatMap(([name, rate]) => (rate === undefined ? [] : [[name, formatUsd(rate)]])),
  );
}

/** The price as calls have it. */
export function shownPrice(price: SetPrice): number | Record<string, number> {
  const rates = Object.entries(price).map(([name, usd]) => [name, toUsdNumber(parseUsd(usd))]);
  const { usd, ...others } = Object.fromEntries(rates);
  return usd !== undefined && Object.keys(others).length === 0 ? usd : Object.fromEntries(rates);
}

function invalid(rule: string): ApiError {
  return new ApiError('bad_request', {
    message: `The price is not one for this row: ${rule}.`,
    param: 'price',
    reason: 'price_invalid',
    details: { said: rule },
  });
}
