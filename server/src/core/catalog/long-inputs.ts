import { isObject, objectOf, type Json } from '../../lib/json.ts';
import { digitsOf, holdsLong, isLong, rounded } from '../../lib/long-integers.ts';
import type { InputError } from './input-error.ts';
import { escaped } from './media-input.ts';

/**
 * Bounds and long integers. The usual check of an input sees long integers rounded, and so cannot
 * tell 2^64 from the largest seed of 64 bits.
 */

type Integer = bigint | number;

const bounds: Record<string, { sign: string; isWithin(value: Integer, limit: Integer): boolean }> =
  {
    maximum: { sign: '<=', isWithin: (value, limit) => value <= limit },
    minimum: { sign: '>=', isWithin: (value, limit) => value >= limit },
    exclusiveMaximum: { sign: '<', isWithin: (value, limit) => value < limit },
    exclusiveMinimum: { sign: '>', isWithin: (value, limit) => value > limit },
  };
const faultsMax = 20;

/** The schema for the usual check: without bounds that are long; the same if it has none. */
export function schemaForCheck(schema: Json): Json {
  return holdsLong(schema) ? objectOf(rounded(withoutLongBounds(schema))) : schema;
}

function withoutLongBounds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutLongBounds);
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(
    ([name, value]) => !(Object.hasOwn(bounds, name) && isLong(value)),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutLongBounds(value)]));
}

/** Numbers of an input outside the bounds of their field, where one or the other is long. */
export function longFaults(schema: Json, input: unknown): InputError[] | null {
  const faults = [...faultsAt(schema, input, '')];
  return faults.length === 0 ? null : faults.slice(0, faultsMax);
}

function* faultsAt(schema: Json, value: unknown, path: string): Generator<InputError> {
  if (isLong(value) || typeof value === 'number') yield* outside(schema, value, path);
  else if (Array.isArray(value))
    for (const [i, item] of value.entries())
      yield* faultsAt(objectOf(schema.items), item, `${path}/${i}`);
  else if (isObject(value))
    for (const [name, item] of Object.entries(value)) {
      const properties = objectOf(schema.properties);
      const field = Object.hasOwn(properties, name) ? objectOf(properties[name]) : {};
      yield* faultsAt(field, item, `${path}/${escaped(name)}`);
    }
}

function* outside(schema: Json, value: unknown, path: string): Generator<InputError> {
  for (const [keyword, { sign, isWithin }] of Object.entries(bounds)) {
    const limit = schema[keyword];
    if (!(isLong(value) || isLong(limit)) || limit === undefined) continue;
    if (isWithin(integerIn(value), integerIn(limit))) continue;
    const name = keyword.replace('exclusiveM', 'exclusive_m');
    yield { path, message: `must be ${sign} ${String(digitsOf(limit))}`, rule: { [name]: limit } };
  }
}

function integerIn(value: unknown): Integer {
  return isLong(value) ? BigInt(value.rawJSON) : Number(value);
}
