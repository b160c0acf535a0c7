import { isObject, type Json } from '../../../lib/json.ts';
import { resolved } from './sample-json.ts';

/**
 * The first fault of a value against a caller's JSON Schema, as `FIELD …`; null if there is none.
 * Types, allowed values and fields are checked. Patterns and bounds are not: the schema is
 * untrusted, and a check must end soon.
 */
export function misfit(
  given: unknown,
  value: unknown,
  root: unknown,
  at = '',
  depth = 0,
): string | null {
  const schema = resolved(given, root);
  if (!isObject(schema) || depth > depthMax) return null;
  const where = at === '' ? 'the whole' : at;
  const allowed = 'const' in schema ? [schema.const] : schema.enum;
  if (
    Array.isArray(allowed) &&
    !allowed.some((one) => JSON.stringify(one) === JSON.stringify(value))
  )
    return `${where} must be ${allowed
      .slice(0, 20)
      .map((one) => JSON.stringify(one))
      .join(' or ')}`;
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => isOf(type, value)))
    return `${where} must be of type ${types.join(' or ')}`;
  const inner = (part: unknown, of: unknown, name: string) =>
    misfit(part, of, root, name, depth + 1);
  for (const choices of [schema.anyOf, schema.oneOf]) {
    if (!Array.isArray(choices)) continue;
    const faults = choices.slice(0, choicesMax).map((choice) => inner(choice, value, at));
    if (faults.length > 0 && !faults.includes(null)) return faults[0]!;
  }
  if (Array.isArray(value)) {
    const faults = value.map((item, nth) => inner(schema.items, item, `${at}[${nth}]`));
    return faults.find((fault) => fault !== null) ?? null;
  }
  return isObject(value) ? fieldFault(schema, value, at, inner) : null;
}

const depthMax = 12;
const choicesMax = 20;

function fieldFault(
  schema: Json,
  value: Json,
  at: string,
  inner: (part: unknown, of: unknown, name: string) => string | null,
): string | null {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const named = (name: string) => (at === '' ? name : `${at}.${name}`);
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${named(missing)} is missing`;
  for (const [name, each] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name);
    if (!known && schema.additionalProperties === false)
      return `${named(name)} is not one of its fields`;
    const fault = known ? inner(properties[name], each, named(name)) : null;
    if (fault !== null) return fault;
  }
  return null;
}

function isOf(type: unknown, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}
