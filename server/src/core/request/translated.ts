import { isFilled, isGiven } from '../check.ts';
import type { Model } from '../catalog/catalog.ts';
import { hasField, typeOf } from '../catalog/model-fields.ts';
import { badField, badRequest } from '../bad-request.ts';
import type { ApiError } from '../errors.ts';
import { readMetadata, type Metadata } from './metadata.ts';
import { isObject, type Json } from '../../lib/json.ts';
import { integerOf } from '../../lib/long-integers.ts';

/** Calls of other APIs as inputs of the queue: the parts that they share. Pure. */

/**
 * An input for the queue. `from`: for each translated input field, the field of the call that it
 * comes from.
 */
export interface TranslatedInput {
  input: Json;
  from: Readonly<Record<string, string>>;
  metadata: Metadata | null;
}

/** The fields of a call that are translated or passed on as inputs of the model. */
interface GivenFields {
  fields: Json;
  metadata: Metadata | null;
}

/** The given fields without `own`, which the API reads itself. Null counts as left out. */
export function givenIn(body: Json, own: ReadonlySet<string>, model: Model): GivenFields {
  const isOurs = (field: string) => field === 'metadata' && !hasField(model, field);
  const fields = Object.fromEntries(
    Object.entries(body).filter(
      ([field, value]) => isGiven(value) && !own.has(field) && !isOurs(field),
    ),
  );
  const metadata = isOurs('metadata') ? readMetadata(body.metadata, 'metadata') : null;
  return { fields, metadata };
}

/** Builds an input. `set` adds what a field of the call becomes. */
export function openInput(given: Json) {
  const input: Json = {};
  const from: Record<string, string> = {};
  const set = (field: string, fields: Json) => {
    for (const [name, value] of Object.entries(fields)) {
      if (name !== field && Object.hasOwn(given, name))
        throw badRequest(field, `Send ${field} or ${name}, not both.`);
      input[name] = value;
      from[name] = field;
    }
  };
  return { input, from, set };
}

/** An address or file id as a plain text, or in an object as OpenAI writes it in JSON. */
export function readImage(value: unknown, field: string): string {
  if (isFilled(value)) return value;
  if (isObject(value) && isGiven(value.image_url) !== isGiven(value.file_id)) {
    const inner = value.image_url ?? value.file_id;
    if (isFilled(inner)) return inner;
  }
  throw badField(
    field,
    'a file of a form, an address, a file_id, {"image_url": "…"} or {"file_id": "…"}',
  );
}

/**
 * The value of a form's field, which arrives as a text, in the type that it has in JSON. A text
 * that does not fit the type is returned unchanged.
 */
export function formValue(field: string, text: string, model: Model | undefined): unknown {
  const known: Record<string, string> = {
    n: 'integer',
    stream: 'boolean',
    partial_images: 'integer',
    output_compression: 'integer',
  };
  const type = known[field] ?? (model && typeOf(model, field));
  if (field === 'metadata' && type !== 'string') return objectIn(text) ?? text;
  if (type === 'integer' && /^-?\d{1,40}$/.test(text)) return integerOf(BigInt(text));
  if ((type === 'integer' || type === 'number') && /^-?\d{1,15}(\.\d{1,9})?$/.test(text))
    return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function objectIn(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The fields in which models take pictures. */
export const imageLists = ['image_urls', 'reference_image_urls'];

/** The error with the call's own field in place of the input's. */
export function atOwnField(error: ApiError, from: TranslatedInput['from']): ApiError {
  const { param } = error;
  if (param === null) return error;
  return Object.hasOwn(from, param) && from[param] !== param ? error.at(from[param]!) : error;
}
