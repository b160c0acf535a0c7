import { isObject, type Json } from '../../lib/json.ts';
import { ApiError } from '../errors.ts';
import { sizeOf, type Size } from '../price/size.ts';
import type { Model } from './catalog.ts';
import { invalid } from './media-input.ts';
import { acceptsValue, hasField } from './model-fields.ts';
import { sizeFields } from './size-fields.ts';

/**
 * A size that a caller states: `size`, `image_size`, or `width` with `height`. It means the same
 * for every model, also for one that takes a size by other fields.
 */

interface StatedSize {
  fields: readonly string[];
  /** Null: the value is not a size. A ratio such as `16:9` is a text. */
  size: Size | string | null;
}

export interface SizedInput {
  /** With the model's own fields in place of the stated ones. */
  input: Json;
  /** The model's own fields that say the size; empty if the input already had them. */
  size: Json;
  /** The stated fields that were replaced. */
  stated: readonly string[];
}

/**
 * The input with its size in the fields that the model takes. A model that takes no size gets the
 * input unchanged. Throws ApiError `invalid_input` for a size that the model cannot make, and for
 * two that differ.
 */
export function sizedInput(input: Json, model: Model): SizedInput {
  const same = { input, size: {}, stated: [] };
  const all = statedSizes(input);
  const foreign = all.filter(({ fields }) => !fields.every((field) => isOwn(field, input, model)));
  if (foreign.length === 0 || !takesSize(model)) return same;
  const [first, ...others] = all.filter(({ size }) => size !== null);
  if (first === undefined) throw unreadable(foreign[0]!);
  for (const { fields, size } of others)
    if (!isSame(size, first.size)) throw differ(first.fields, fields);
  const field = first.fields[0]!;
  const size = fieldsOf(first.size!, model, (allowed) => refused(field, allowed));
  if (size === null) return same;
  for (const [name, value] of Object.entries(size)) {
    const given = all.some(({ fields }) => fields.includes(name)) ? undefined : input[name];
    if (given !== undefined && given !== value) throw differ(first.fields, [name]);
  }
  const stated = all.flatMap(({ fields }) => fields);
  const rest = Object.entries(input).filter(([name]) => !stated.includes(name));
  return { input: { ...Object.fromEntries(rest), ...size }, size, stated };
}

function statedSizes({ size, image_size, width, height }: Json): StatedSize[] {
  const stated: StatedSize[] = [];
  if (image_size !== undefined && image_size !== 'auto')
    stated.push({ fields: ['image_size'], size: read(image_size) });
  // A word such as "large" is a field of some other kind.
  if (read(size) !== null) stated.push({ fields: ['size'], size: read(size) });
  if (width !== undefined && height !== undefined)
    stated.push({ fields: ['width', 'height'], size: read({ width, height }) });
  return stated;
}

function read(value: unknown): Size | string | null {
  if (typeof value === 'string') {
    const size = sizeOf(value.replace('*', 'x'));
    if (size !== undefined) return size.width > 0 && size.height > 0 ? size : null;
    return /^\d{1,5}:\d{1,5}$/.test(value) ? value : null;
  }
  const { width, height } = isObject(value) ? value : {};
  return isSide(width) && isSide(height) ? { width, height } : null;
}

function isSide(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}

/** Whether the model takes the field as it is. */
function isOwn(field: string, input: Json, model: Model): boolean {
  return (
    hasField(model, field) &&
    (read(input[field]) === null || acceptsValue(model, field, input[field]))
  );
}

function takesSize(model: Model): boolean {
  const has = (field: string) => hasField(model, field);
  return (
    ['image_size', 'size', 'aspect_ratio', 'resolution'].some(has) ||
    (has('width') && has('height'))
  );
}

function fieldsOf(size: Size | string, model: Model, refuse: (allowed: string) => ApiError) {
  if (typeof size !== 'string') return sizeFields(size, model, refuse);
  if (!hasField(model, 'aspect_ratio')) throw refuse('WIDTHxHEIGHT in pixels, such as 1024x1024');
  return { aspect_ratio: size };
}

function isSame(a: Size | string | null, b: Size | string | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function refused(field: string, allowed: string): ApiError {
  return invalid(`/${field}`, `must be ${allowed}`);
}

function unreadable({ fields }: StatedSize): ApiError {
  const [field] = fields;
  const allowed =
    'WIDTHxHEIGHT in pixels, an object with width and height, or a name such as square';
  return refused(field!, field === 'image_size' ? allowed : 'an integer, in pixels');
}

function differ(first: readonly string[], second: readonly string[]): ApiError {
  const [one, other] = [first.join(' and '), second.join(' and ')];
  return invalid(`/${first[0]!}`, `differs from ${other}; send only one of ${one} or ${other}`);
}
