import { isObject, type Json } from '../lib/json.ts';

/** JSON Schemas that upstreams show of their models' inputs. */

const depthMax = 8;
const fieldsMax = 300;

/** Keywords that say which values fit; the rest is for the upstream's own pages. */
const keywords = [
  'type',
  'enum',
  'default',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'format',
  'description',
  'required',
];

/**
 * A schema with its references put in place, of several forms of a value the plainest, and with its
 * fields in the order that they are shown in. `schemas`: where `#/components/schemas/…` leads.
 */
export function plainSchema(value: unknown, schemas: Json, depth = 0): Json | null {
  if (!isObject(value) || depth > depthMax) return null;
  const schema = value;
  const plain: Json = {};
  const forms = Array.isArray(schema.anyOf) ? schema.anyOf : schema.oneOf;
  const form = Array.isArray(forms) ? plainest(forms, schemas, depth) : null;
  if (form !== null) Object.assign(plain, form);
  for (const each of [schema, ...(Array.isArray(schema.allOf) ? schema.allOf : [])]) {
    const [, name] = /^#\/components\/schemas\/([\w.-]+)$/.exec(refOf(each)) ?? [];
    if (name === undefined || !Object.hasOwn(schemas, name)) continue;
    Object.assign(plain, plainSchema(schemas[name], schemas, depth + 1));
  }
  for (const keyword of keywords)
    if (Object.hasOwn(schema, keyword)) plain[keyword] = schema[keyword];
  const items = plainSchema(schema.items, schemas, depth + 1);
  if (items !== null) plain.items = items;
  const { properties } = schema;
  if (isObject(properties)) plain.properties = plainFields(schema, properties, schemas, depth);
  return plain;
}

/** A few words rather than a number, a number rather than an object; null is no form. */
function plainest(forms: unknown[], schemas: Json, depth: number): Json | null {
  const plain = forms
    .slice(0, fieldsMax)
    .map((form) => plainSchema(form, schemas, depth + 1))
    .filter((form) => form !== null && form.type !== 'null');
  const scalars = new Set<unknown>(['string', 'number', 'integer', 'boolean']);
  const words = plain.find((form) => Array.isArray(form!.enum));
  return words ?? plain.find((form) => scalars.has(form!.type)) ?? plain[0] ?? null;
}

function plainFields(schema: Json, properties: Json, schemas: Json, depth: number): Json {
  // fal names the order beside the fields, Replicate in each.
  const listed = schema['x-fal-order-properties'];
  const order = Array.isArray(listed) ? listed : [];
  const place = (name: string, field: unknown) => {
    const at = order.indexOf(name);
    return at === -1 ? orderOf(field) : at;
  };
  const fields = Object.entries(properties)
    .toSorted(([a, one], [b, other]) => place(a, one) - place(b, other))
    .slice(0, fieldsMax)
    .map(([name, field]) => [name, plainSchema(field, schemas, depth + 1) ?? {}]);
  return Object.fromEntries(fields);
}

function orderOf(field: unknown): number {
  const order = isObject(field) ? field['x-order'] : undefined;
  return typeof order === 'number' ? order : fieldsMax;
}

function refOf(value: unknown): string {
  return isObject(value) && typeof value.$ref === 'string' ? value.$ref : '';
}
