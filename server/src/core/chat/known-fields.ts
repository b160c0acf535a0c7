import { isObject, type Json } from '../../lib/json.ts';
import { badField } from '../bad-request.ts';
import { isGiven, type Check } from '../check.ts';

/**
 * Rebuilds objects from their known fields. An unchecked field does not reach an upstream, because
 * it may change the price there.
 */

/** `isText`: the value may also be a plain string. */
export interface KnownFields {
  isText?: true;
  fields: Readonly<Record<string, Shape>>;
}

export type Shape = Check | KnownFields | { list: Shape };

/**
 * Makes the error for the value at path `at`, such as `tools[0].function.name`; `is`: what is
 * allowed.
 */
type Refuse = (at: string, is: string) => Error;

/** Names of fields that were left out, with `[]` in place of each index. */
export class LeftOut {
  readonly names = new Set<string>();

  /** `at`: the path of the object; '' for the body. */
  add(at: string, fields: Json, isKnown: (field: string) => boolean): void {
    for (const field of Object.keys(fields)) {
      if (this.names.size >= namesMax) return;
      if (isKnown(field) || !isGiven(fields[field]) || !nameForm.test(field)) continue;
      const path = at.replaceAll(/\[\d+\]/g, '[]');
      this.names.add(path === '' ? field : `${path}.${field}`);
    }
  }
}

/**
 * The fields of a call's body that have a shape, checked. Adds to `left` all others, except those
 * in `read`, which are read elsewhere.
 *
 * @throws ApiError `bad_request`, which names the field
 */
export function knownFields(
  body: Json,
  shapes: Readonly<Record<string, Shape>>,
  read: ReadonlySet<string>,
  left: LeftOut,
): Json {
  left.add('', body, (field) => read.has(field) || Object.hasOwn(shapes, field));
  const kept: Json = {};
  for (const [field, shape] of Object.entries(shapes)) {
    const value = Object.hasOwn(body, field) ? body[field] : undefined;
    if (isGiven(value)) kept[field] = rebuilt(value, shape, field, badField, left);
  }
  return kept;
}

/** The names are listed in a header of the reply. */
const namesMax = 20;
const nameForm = /^[\w-]{1,64}$/;

/**
 * The value reduced to its known fields; null counts as omitted. Adds the unknown ones to `left`.
 */
export function rebuilt(
  value: unknown,
  shape: Shape,
  at: string,
  refuse: Refuse,
  left?: LeftOut,
): unknown {
  if ('test' in shape) {
    if (!shape.test(value)) throw refuse(at, shape.is);
    return value;
  }
  if ('list' in shape) {
    if (!Array.isArray(value)) throw refuse(at, 'a list');
    return value.map((item, i) => rebuilt(item, shape.list, `${at}[${i}]`, refuse, left));
  }
  if (shape.isText && typeof value === 'string') return value;
  if (!isObject(value)) throw refuse(at, shape.isText ? 'a string or an object' : 'an object');
  left?.add(at, value, (field) => Object.hasOwn(shape.fields, field));
  const kept: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(shape.fields)) {
    const given = Object.hasOwn(value, field) ? value[field] : undefined;
    if (isGiven(given)) kept[field] = rebuilt(given, inner, `${at}.${field}`, refuse, left);
  }
  return kept;
}
