import { invalid, mediaRule } from '../../../core/catalog/media-input.ts';
import { ApiError } from '../../../core/errors.ts';
import { fileId } from '../../../core/request/file-id.ts';
import { dataIn } from '../../../lib/data-address.ts';
import { newId } from '../../../lib/id.ts';
import { isObject, type Json } from '../../../lib/json.ts';
import { jsonMaxBytes } from '../../body.ts';
import type { FormCall, FormImage, ImageFields } from './form-files.ts';

/** Images inside JSON. In a large body they become uploads, because a request keeps its input. */

/**
 * The call with file ids in place of its `data:` addresses.
 *
 * @throws ApiError `invalid_input` for a broken address, `payload_too_large` if the other fields
 * are too large
 */
export function takeDataImages(body: Json, fields: ImageFields): FormCall {
  const images: FormImage[] = [];
  const taken = withImages(body, fields, (address, field) => {
    const bytes = bytesIn(address, field);
    if (bytes === null) return address;
    const id = newId();
    images.push({ id, field, bytes });
    return fileId(id);
  });
  if (Buffer.byteLength(JSON.stringify(taken)) > jsonMaxBytes)
    throw new ApiError('payload_too_large', {
      message: `The fields besides the images are larger than ${jsonMaxBytes} bytes, the most this call accepts.`,
      details: { max_bytes: jsonMaxBytes },
    });
  return { body: taken, images };
}

/** Null for an image that is not a `data:` address. */
function bytesIn(address: string, field: string): Buffer | null {
  if (!/^\s*data:/i.test(address)) return null;
  const data = dataIn(address);
  if (data !== null) return Buffer.from(data.base64, 'base64');
  throw invalid(`/${field}`, mediaRule(address), { reason: 'media_invalid' });
}

/** The body after `change` of each text that names an image, also inside lists and objects. */
export function withImages(
  body: Json,
  { json }: ImageFields,
  change: (text: string, field: string) => string,
): Json {
  const changed = (value: unknown, field: string): unknown => {
    if (typeof value === 'string') return change(value, field);
    if (Array.isArray(value)) return value.map((each) => changed(each, field));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, changed(each, field)]),
    );
  };
  const kept = Object.entries(json).filter(([name]) => Object.hasOwn(body, name));
  return {
    ...body,
    ...Object.fromEntries(kept.map(([name, field]) => [name, changed(body[name], field)])),
  };
}
