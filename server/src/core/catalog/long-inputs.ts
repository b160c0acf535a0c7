import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { digitsOf, holdsLong, isLong, roundLong } from '../../lib/long-integers.ts';
import type { InputError } from './input-error.ts';
import { pointerSegment } from './media-input.ts';

/**
 * Limits and long integers. The usual check of an input sees long integers rounded, and so cannot
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
const wordsMax = 400;

/** The schema for the usual check: without limits that are long; the same if it has none. */
export function schemaForCheck(schema: Json): Json {
  return holdsLong(schema) ? objectOf(roundLong(withoutLongLimits(schema))) : schema;
}

function withoutLongLimits(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutLongLimits);
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([name, value]) => !isLongLimit(name, value));
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutLongLimits(value)]));
}

function isLongLimit(name: string, value: unknown): boolean {
  if (name === 'enum') return Array.isArray(value) && value.some(isLong);
  return isLong(value) && (name === 'const' || Object.hasOwn(bounds, name));
}

/** Values of an input outside the limits of their field, where one or the other is long. */
export function longFaults(schema: Json, input: unknown): InputError[] | null {
  const faults = [...faultsAt(schema, input, '')];
  return faults.length === 0 ? null : faults.slice(0, faultsMax);
}

function* faultsAt(schema: Json, value: unknown, path: string): Generator<InputError> {
  yield* unlisted(schema, value, path);
  if (isLong(value) || typeof value === 'number') yield* outside(schema, value, path);
  else if (Array.isArray(value))
    for (const [i, item] of value.entries())
      yield* faultsAt(objectOf(schema.items), item, `${path}/${i}`);
  else if (isObject(value))
    for (const [name, item] of Object.entries(value)) {
      const properties = objectOf(schema.properties);
      const field = Object.hasOwn(properties, name) ? objectOf(properties[name]) : {};
      yield* faultsAt(field, item, `${path}/${pointerSegment(name)}`);
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

function* unlisted(schema: Json, value: unknown, path: string): Generator<InputError> {
  const isOne = Object.hasOwn(schema, 'const');
  const listed = isOne ? [schema.const] : itemsOf(schema.enum);
  const texts = listed.map((each) => JSON.stringify(each));
  if (texts.length === 0 || texts.includes(JSON.stringify(value))) return;
  if (!isLong(value) && !listed.some(isLong)) return;
  const words = texts.join(', ').slice(0, wordsMax);
  yield { path, message: `must be ${isOne ? '' : 'one of '}${words}`, rule: { one_of: words } };
}

function integerIn(value: unknown): Integer {
  return isLong(value) ? BigInt(value.rawJSON) : Number(value);
}
