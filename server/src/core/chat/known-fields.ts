import { isObject } from '../../lib/json.ts';
import { isGiven, type Check } from '../check.ts';

/**
 * Objects rebuilt from their known fields. An unchecked field does not reach an upstream: it may
 * change the price there, such as a `cache_control` on a tool.
 */

/** `isText`: the value may be a plain string instead. */
export interface KnownFields {
  isText?: true;
  fields: Readonly<Record<string, Shape>>;
}

export type Shape = Check | KnownFields | { list: Shape };

/** Makes the error for a value at `at`, such as `tools[0].function.name`; `is`: what is allowed. */
type Refuse = (at: string, is: string) => Error;

/** The value with its known fields only; null counts as left out. */
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
