import { isCount, isObject, type Json } from '../../../lib/json.ts';
import { fieldOf } from '../../../lib/unknown.ts';
import type { ValueFor } from './tool-values.ts';

/**
 * A value that fits a caller's JSON Schema, the same value every time. `pattern`, `not` and
 * conditions are ignored. The schema is untrusted, so depth, size and lengths are limited; for a
 * schema beyond the limits the value may not fit. With `valueFor` it is as small as it may be:
 * optional fields are left out, what may be null is null, and `valueFor` chooses the other values.
 */
export function sampleOf(schema: unknown, valueFor: ValueFor | null = null): unknown {
  return sample(schema, { root: schema, left: valuesMax, name: 'value', nth: 0, valueFor }, 0);
}

const valuesMax = 5_000;
const depthMax = 24;
/**
 * From this depth on optional fields are left out, lists are as short as possible, and the choice
 * with the fewest levels is taken. Otherwise a schema that refers to itself would never end.
 */
const optionalDepthMax = 4;
const visitsMax = 200;
const refsMax = 16;
const itemsMax = 20;
const lengthMax = 2_000;

interface Place {
  root: unknown;
  /** How many more values may be made for the whole sample. */
  left: number;
  /** The field's name, which its sample string contains. */
  name: string;
  /** Position in a list; makes the list's items differ. */
  nth: number;
  valueFor: ValueFor | null;
}

const formats: Record<string, (nth: number) => string> = {
  'date-time': (nth) => `2026-01-${day(nth)}T12:00:00Z`,
  date: (nth) => `2026-01-${day(nth)}`,
  time: () => '12:00:00Z',
  duration: (nth) => `PT${nth + 1}H`,
  email: (nth) => `sandbox${nth || ''}@example.com`,
  hostname: (nth) => `sandbox${nth || ''}.example.com`,
  ipv4: (nth) => `192.0.2.${nth + 1}`,
  ipv6: (nth) => `2001:db8::${nth + 1}`,
  uuid: (nth) => `00000000-0000-4000-8000-${String(nth).padStart(12, '0')}`,
  uri: (nth) => `https://example.com/${nth || ''}`,
  url: (nth) => `https://example.com/${nth || ''}`,
};

function sample(given: unknown, place: Place, depth: number): unknown {
  const schema = resolved(given, place.root);
  if (!isObject(schema) || depth > depthMax || place.left-- <= 0) return null;
  if (place.valueFor && mayBeNull(schema, place.root)) return null;
  if ('const' in schema) return schema.const;
  for (const listed of [schema.enum, schema.examples])
    if (Array.isArray(listed) && listed.length > 0) return listed[place.nth % listed.length];
  if ('default' in schema) return schema.default;
  place.left -= Array.isArray(schema.allOf) ? schema.allOf.length : 0;
  const choice = choiceOf(schema, place, depth);
  const parts = choice === undefined ? schema.allOf : [choice];
  if (Array.isArray(parts)) return sample(merged(schema, parts, place), place, depth + 1);
  return ofType(typeOf(schema, depth), schema, place, depth);
}

function mayBeNull(schema: Json, root: unknown): boolean {
  if (Array.isArray(schema.type)) return schema.type.includes('null');
  const choices: unknown[] | undefined = [schema.anyOf, schema.oneOf].find(Array.isArray);
  return choices?.some((choice) => fieldOf(resolved(choice, root), 'type') === 'null') ?? false;
}

function ofType(type: unknown, schema: Json, place: Place, depth: number): unknown {
  const own = schema.format === undefined ? place.valueFor?.(place.name, type) : undefined;
  if (own !== undefined) return bounded(own, schema);
  switch (type) {
    case 'object':
      return objectOf(schema, place, depth);
    case 'array':
      return listOf(schema, place, depth);
    case 'number':
    case 'integer':
      return numberOf(schema, place.nth, type === 'integer');
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return textOf(schema, place);
  }
}

function objectOf(schema: Json, place: Place, depth: number): Json {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const all = Object.keys(properties);
  spend(place, all.length + required.size);
  const isFull = depth < optionalDepthMax && place.valueFor === null;
  const fields = all.filter((field) => isFull || required.has(field));
  const entries: [string, unknown][] = [];
  for (const field of fields) {
    if (place.left <= 0) break;
    entries.push([field, within(place, properties[field], depth, field, place.nth)]);
  }
  return Object.fromEntries(entries);
}

/** Takes a large schema's cost from the budget, so that using the schema many times ends sooner. */
function spend(place: Place, fields: number): void {
  place.left -= Math.floor(fields / 20);
}

function listOf(schema: Json, place: Place, depth: number): unknown[] {
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const usual = depth < optionalDepthMax ? 1 : 0;
  const least = Math.max(boundOf(schema.minItems) ?? usual, first.length);
  const count = Math.min(least, boundOf(schema.maxItems) ?? Infinity, itemsMax);
  const items: unknown[] = [];
  for (let i = 0; i < count && place.left > 0; i++)
    items.push(within(place, first[i] ?? schema.items ?? {}, depth, place.name, i));
  return items;
}

function within(place: Place, schema: unknown, depth: number, name: string, nth: number): unknown {
  const inner = { ...place, name, nth };
  const value = sample(schema, inner, depth + 1);
  place.left = inner.left;
  return value;
}

/** A chosen value within the bounds of its schema. */
function bounded(value: unknown, schema: Json): unknown {
  if (typeof value === 'number')
    return Math.min(
      Math.max(value, finite(schema.minimum) ?? value),
      finite(schema.maximum) ?? value,
    );
  if (typeof value !== 'string') return value;
  const least = Math.min(boundOf(schema.minLength) ?? 0, lengthMax);
  return value.padEnd(least, '.').slice(0, boundOf(schema.maxLength) ?? lengthMax);
}

function numberOf(schema: Json, nth: number, whole: boolean): number {
  const step = finite(schema.multipleOf) || (whole ? 1 : 0);
  const above = finite(schema.exclusiveMinimum);
  const below = finite(schema.exclusiveMaximum);
  const least = Math.max(finite(schema.minimum) ?? -Infinity, above ?? -Infinity);
  const most = Math.min(finite(schema.maximum) ?? Infinity, below ?? Infinity);
  const start = Math.min(Math.max(1 + nth, least), most);
  if (step <= 0) {
    const isOut = start === above || start === below;
    if (!isOut) return start;
    if (least === -Infinity) return most - 1;
    return most === Infinity ? least + 1 : (least + most) / 2;
  }
  const up = Math.ceil(start / step) * step;
  if (up <= most && up !== below) return up === above ? up + step : up;
  const down = Math.floor(start / step) * step;
  return down === below ? down - step : down;
}

function textOf({ format, minLength, maxLength }: Json, { name, nth }: Place): string {
  const formatted = typeof format === 'string' && Object.hasOwn(formats, format);
  if (formatted) return formats[format]!(nth);
  const text = `sandbox ${name}${nth > 0 ? ` ${nth + 1}` : ''}`;
  const least = Math.min(boundOf(minLength) ?? 0, lengthMax);
  return text.padEnd(least, '.').slice(0, Math.min(boundOf(maxLength) ?? lengthMax, lengthMax));
}

/**
 * One choice of `anyOf` or `oneOf`: the first that is not null; from `optionalDepthMax` on, the
 * choice with the fewest levels.
 */
function choiceOf(schema: Json, place: Place, depth: number): unknown {
  const { root } = place;
  const choices: unknown[] | undefined = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (choices === undefined) return undefined;
  const isNull = (choice: unknown) => fieldOf(resolved(choice, root), 'type') === 'null';
  if (depth < optionalDepthMax) return choices.find((choice) => !isNull(choice)) ?? choices[0];
  const visits = { left: visitsMax };
  const heights = choices.map((choice) => heightOf(choice, root, visits, 0));
  // A long search also takes from the budget.
  place.left -= Math.floor((visitsMax - visits.left) / 10);
  return choices[heights.indexOf(Math.min(...heights))];
}

/** How many levels a schema needs at least; Infinity if no end is found. */
function heightOf(given: unknown, root: unknown, visits: { left: number }, depth: number): number {
  const schema = resolved(given, root);
  if (!isObject(schema) || depth > depthMax || visits.left-- <= 0) return Infinity;
  if ('const' in schema || 'enum' in schema || 'examples' in schema || 'default' in schema)
    return 0;
  const inner = (part: unknown) => heightOf(part, root, visits, depth + 1);
  const highest = (parts: unknown[]) => {
    let most = 0;
    for (const part of parts) if (most < Infinity) most = Math.max(most, inner(part));
    return most;
  };
  const choices: unknown[] | undefined = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (choices)
    return choices.reduce<number>((least, part) => Math.min(least, inner(part)), Infinity);
  if (Array.isArray(schema.allOf)) return highest(schema.allOf);
  const type = typeOf(schema, optionalDepthMax);
  if (type === 'array' && boundOf(schema.minItems)) return 1 + inner(schema.items);
  if (type !== 'object' || !Array.isArray(schema.required)) return type === 'null' ? 0 : 1;
  const fields = isObject(schema.properties) ? schema.properties : {};
  return 1 + highest(schema.required.map((field) => fields[String(field)] ?? {}));
}

/**
 * Merges a schema with its parts: fields and required names add up; for all else a part's value
 * wins.
 */
function merged(
  { allOf: _a, anyOf: _b, oneOf: _c, ...own }: Json,
  parts: unknown[],
  place: Place,
): Json {
  const whole: Json = {};
  const properties: Json = {};
  const required: unknown[] = [];
  for (const part of [own, ...parts.map((each) => resolved(each, place.root))]) {
    if (!isObject(part)) continue;
    Object.assign(whole, part);
    Object.assign(properties, part.properties);
    if (Array.isArray(part.required)) for (const field of part.required) required.push(field);
  }
  spend(place, Object.keys(properties).length + required.length);
  return { ...whole, properties, required };
}

function typeOf(schema: Json, depth: number): unknown {
  const { type } = schema;
  if (Array.isArray(type)) {
    const one = type.find((each) => each !== 'null') ?? 'null';
    const holdsMore = one === 'object' || one === 'array';
    return depth >= optionalDepthMax && holdsMore && type.includes('null') ? 'null' : one;
  }
  if (type !== undefined) return type;
  if (isObject(schema.properties) && Object.keys(schema.properties).length > 0) return 'object';
  return 'items' in schema || 'prefixItems' in schema ? 'array' : 'string';
}

/** The target of a `$ref` inside the same schema. */
export function resolved(schema: unknown, root: unknown): unknown {
  let found = schema;
  for (let i = 0; i < refsMax && isObject(found) && typeof found.$ref === 'string'; i++) {
    const { $ref, ...beside } = found;
    const target = pointed(String($ref), root);
    found = isObject(target) ? { ...target, ...beside } : target;
  }
  return found;
}

function pointed(ref: string, root: unknown): unknown {
  if (!ref.startsWith('#')) return undefined;
  let found: unknown = root;
  for (const step of ref.slice(1).split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
      return undefined;
    found = fieldOf(found, name);
  }
  return found;
}

function boundOf(value: unknown): number | null {
  return isCount(value) ? value : null;
}

function finite(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function day(nth: number): string {
  return String((nth % 28) + 1).padStart(2, '0');
}
