import { isObject } from '../../lib/json.ts';
import { isGiven, type Check } from '../check.ts';

/**
 * Rebuilds objects from their known fields. An unchecked field does not reach an upstream, because
 * it may change the price there, such as a `cache_control` on a tool.
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

/** The value reduced to its known fields; null counts as omitted. */
export function rebuilt(value: unknown, shape: Shape, at: string, refuse: Refuse): unknown {
  if ('test' in shape) {
    if (!shape.test(value)) throw refuse(at, shape.is);
    return value;
  }
  if ('list' in shape) {
    if (!Array.isArray(value)) throw refuse(at, 'a list');
    return value.map((item, i) => rebuilt(item, shape.list, `${at}[${i}]`, refuse));
  }
  if (shape.isText && typeof value === 'string') return value;
  if (!isObject(value)) throw refuse(at, shape.isText ? 'a string or an object' : 'an object');
  const kept: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(shape.fields)) {
    const given = Object.hasOwn(value, field) ? value[field] : undefined;
    if (isGiven(given)) kept[field] = rebuilt(given, inner, `${at}.${field}`, refuse);
  }
  return kept;
}
