import { isUtf8 } from 'node:buffer';
import { formValue } from '../../../core/request/images-call.ts';
import { ApiError } from '../../../core/errors.ts';
import { fileId } from '../../../core/request/id.ts';
import { newId } from '../../../lib/id.ts';
import type { Json } from '../../../lib/json.ts';
import type { FormPart } from '../../../lib/multipart.ts';
import { once } from '../../../lib/streams.ts';
import { typeName, typeNames } from '../../../core/media/content-type.ts';
import { describe, sniff, sniffBytes } from '../../../core/media/sniff.ts';
import { jsonMaxBytes } from '../../body.ts';
import type { HttpDeps } from '../../deps.ts';
import { assertRoom, assertSpace, keep } from '../files.ts';
import * as files from '../../../db/accounts/files.ts';

/** Turns a form with images into the same call in JSON. Its images become uploads. */

export interface FormImage {
  id: string;
  /** The field of the form. */
  field: 'image' | 'mask';
  bytes: Buffer;
}

export interface FormCall {
  /** The call, which names the images by their future file ids. */
  body: Json;
  images: FormImage[];
}

/** @throws ApiError `bad_request` or `payload_too_large` */
export function readFormCall(parts: FormPart[], { catalog }: Pick<HttpDeps, 'catalog'>): FormCall {
  const texts = new Map<string, string>();
  const images: FormImage[] = [];
  let textBytes = 0;
  for (const { name, file_name, bytes } of parts) {
    const field = name.replace(/\[\d{0,3}\]$/, '');
    if (file_name !== null) {
      if (field !== 'image' && field !== 'mask')
        throw badPart(
          name,
          'is not a file of this call. Send images as image or image[], and a mask as mask.',
        );
      images.push({ id: newId(), field, bytes });
      continue;
    }
    if (!/^\w{1,64}$/.test(name) || name === '__proto__')
      throw badPart(name.slice(0, 64), 'is not a field of this call.');
    if (texts.has(name)) throw badPart(name, 'must be sent once.');
    textBytes += bytes.length;
    if (textBytes > jsonMaxBytes)
      throw new ApiError('payload_too_large', {
        message: `The fields of the form are larger than ${jsonMaxBytes} bytes, the most this call accepts.`,
        details: { max_bytes: jsonMaxBytes },
      });
    if (!isUtf8(bytes) || bytes.includes(0))
      throw badPart(name, 'must be a text in UTF-8, without NUL.');
    texts.set(name, bytes.toString('utf8'));
  }
  const twice = images.find(({ field }) => texts.has(field));
  if (twice)
    throw badPart(twice.field, 'must be sent either as files or as text fields, not as both.');
  const model = catalog().models.get(texts.get('model') ?? '');
  const values = [...texts].map(([name, text]) => [name, formValue(name, text, model)]);
  const ids = (wanted: FormImage['field']) =>
    images.filter(({ field }) => field === wanted).map(({ id }) => fileId(id));
  const image = ids('image');
  const [mask, ...masks] = ids('mask');
  if (masks.length > 0) throw badPart('mask', 'must be sent once.');
  const files = { ...(image.length > 0 && { image }), ...(mask !== undefined && { mask }) };
  return { body: { ...Object.fromEntries(values), ...files }, images };
}

function badPart(param: string, rule: string): ApiError {
  return new ApiError('bad_request', { message: `${param} ${rule}`, param });
}

export interface StoredImages {
  /** The SHA-256 of each image by its file id. A repeat of the call has the same digests. */
  digests: ReadonlyMap<string, string>;
  /** Removes the images of a call that made no job. */
  remove: () => Promise<void>;
}

/** @throws ApiError if the bytes are not an image, or if the account may not store them */
export async function storeImages(
  images: FormImage[],
  account_id: string,
  deps: HttpDeps,
): Promise<StoredImages> {
  const types: string[] = [];
  for (const image of images) types.push(await imageType(image));
  assertSpace(deps);
  const size = images.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const max_bytes = await assertRoom(account_id, size, deps);
  const stored: { id: string; storage_key: string }[] = [];
  const remove = async () => {
    for (const { storage_key } of stored) await deps.storage.remove(storage_key);
    await files.removeMany(
      deps.db,
      stored.map(({ id }) => id),
    );
  };
  const digests = new Map<string, string>();
  try {
    for (const [i, { id, bytes }] of images.entries()) {
      const file = { id, account_id, storage_key: `files/${account_id}/${id}` };
      const kept = await keep(file, async () => types[i]!, once(bytes), max_bytes, deps);
      stored.push(file);
      digests.set(fileId(id), String(kept.sha256));
    }
  } catch (error) {
    await remove();
    throw error;
  }
  return { digests, remove };
}

async function imageType({ field, bytes }: FormImage): Promise<string> {
  const type = await sniff(bytes.subarray(0, sniffBytes));
  if (type?.startsWith('image/') && type !== 'image/svg+xml') return type;
  const found = type === null ? await describe(bytes.subarray(0, sniffBytes)) : typeName(type);
  const taken = typeNames((each) => each.startsWith('image/') && each !== 'image/svg+xml');
  throw new ApiError('unsupported_media_type', {
    message: `The bytes of ${field} are ${found}, not an image of an accepted type: ${taken}.`,
    param: field,
  });
}
