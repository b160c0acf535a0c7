import { isObject, objectOf } from '../../server/src/lib/json.ts';
import { objectsIn, text, type Json } from './vendor.ts';

const depthMax = 8;
const scalars = new Set<unknown>(['string', 'number', 'integer', 'boolean']);

/**
 * A JSON Schema with references resolved, alternative forms reduced to the simplest, and fields in
 * the vendor's order; null if the value is not a schema. `schemas`: the targets of
 * `#/components/schemas/…`.
 */
export function plainSchema(value: unknown, schemas: Json, depth = 0): Json | null {
  if (!isObject(value) || depth > depthMax) return null;
  const { anyOf, oneOf, allOf, $ref, ...own } = value;
  const plain = (part: unknown) => plainSchema(part, schemas, depth + 1);
  const all = (parts: unknown) =>
    objectsIn(parts)
      .map(plain)
      .filter((part) => part !== null);
  const name = text($ref).replace(/^#\/components\/schemas\//, '');
  const referred = Object.hasOwn(schemas, name) ? plain(schemas[name]) : null;
  const schema: Json = Object.assign(
    {},
    simplest(all(anyOf ?? oneOf)),
    ...all(allOf),
    referred,
    own,
  );
  if (isObject(own.items)) schema.items = plain(own.items);
  if (isObject(own.properties))
    schema.properties = Object.fromEntries(
      inOrder(own).map(([field, each]) => [field, plain(each) ?? {}]),
    );
  return schema;
}

/**
 * The simplest form: an enumeration before a number, a number before an object; null is ignored.
 */
function simplest(forms: Json[]): Json | undefined {
  const real = forms.filter(({ type }) => type !== 'null');
  const words = real.find((form) => Array.isArray(form.enum));
  return words ?? real.find(({ type }) => scalars.has(type)) ?? real[0];
}

/** The fields in order: fal states it beside the fields, Replicate in each field. */
function inOrder({ properties, 'x-fal-order-properties': listed }: Json): [string, unknown][] {
  const order = Array.isArray(listed) ? listed : [];
  const placeOf = ([name, field]: [string, unknown]) => {
    const at = order.indexOf(name);
    return at === -1 ? Number(objectOf(field)['x-order'] ?? Infinity) : at;
  };
  const fields = Object.entries(objectOf(properties)).map((field) => ({
    field,
    at: placeOf(field),
  }));
  return fields.sort((a, b) => (a.at === b.at ? 0 : a.at - b.at)).map(({ field }) => field);
}
