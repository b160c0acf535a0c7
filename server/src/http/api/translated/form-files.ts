import { isUtf8 } from 'node:buffer';
import { formValue } from '../../../core/request/translated.ts';
import { ApiError } from '../../../core/errors.ts';
import { fileId } from '../../../core/request/file-id.ts';
import { newId } from '../../../lib/id.ts';
import { objectOf, type Json } from '../../../lib/json.ts';
import type { FormPart } from '../../../lib/multipart.ts';
import { once } from '../../../lib/streams.ts';
import { typeName, typeNames } from '../../../core/media/content-type.ts';
import { describe, sniff, sniffBytes } from '../../../core/media/sniff.ts';
import { jsonMaxBytes } from '../../body.ts';
import type { HttpDeps } from '../../deps.ts';
import { requireFileQuota, demandDiskSpace, discard, storeBytes, newFile } from '../files.ts';

/** Turns a form with images into the same call in JSON. Its images become uploads. */

/** The fields of a call that may hold images, and what each takes. */
export interface ImageFields {
  /** In a form. */
  files: Readonly<Record<string, 'one' | 'list'>>;
  /** In JSON, by the field that errors name. */
  json: Readonly<Record<string, string>>;
  /** A sentence for a file in any other field. */
  advice: string;
}

export interface FormImage {
  id: string;
  /** The field of the form. */
  field: string;
  bytes: Buffer;
}

export interface FormCall {
  /** The call, which names the images by their future file ids. */
  body: Json;
  images: FormImage[];
}

/** @throws ApiError `bad_request` or `payload_too_large` */
export function readFormCall(
  parts: FormPart[],
  { files, advice }: ImageFields,
  { catalog }: Pick<HttpDeps, 'catalog'>,
): FormCall {
  const texts = new Map<string, string>();
  const images: FormImage[] = [];
  let textBytes = 0;
  for (const { name, file_name, bytes } of parts) {
    const field = name.replace(/\[\d{0,3}\]$/, '');
    if (file_name !== null) {
      if (!Object.hasOwn(files, field))
        throw badPart(name, `is not a file of this call. ${advice}`);
      images.push({ id: newId(), field, bytes });
      continue;
    }
    const [, outer = name] = innerName.exec(name) ?? [];
    if (!/^\w{1,64}$/.test(outer) || outer === '__proto__')
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
  const model = catalog().models.get(texts.get('model') ?? '');
  const body: Json = {};
  for (const [name, text] of texts) {
    const [, outer, inner] = innerName.exec(name) ?? [];
    if (outer === undefined) body[name] = formValue(name, text, model);
    else if (texts.has(outer)) throw badPart(outer, 'must be sent once.');
    else body[outer] = { ...objectOf(body[outer]), [inner!]: text };
  }
  for (const [field, sent] of Map.groupBy(images, (image) => image.field)) {
    if (Object.hasOwn(body, field))
      throw badPart(field, 'must be sent either as files or as text fields, not as both.');
    const ids = sent.map(({ id }) => fileId(id));
    if (files[field] === 'one' && ids.length > 1) throw badPart(field, 'must be sent once.');
    body[field] = files[field] === 'one' ? ids[0] : ids;
  }
  return { body, images };
}

/** `image[file_id]`: a field of an object, as clients write it in a form. */
const innerName = /^(\w{1,64})\[([\w.-]{1,64})\]$/;

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
  demandDiskSpace(deps);
  const size = images.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const max_bytes = await requireFileQuota(account_id, size, deps);
  const stored: { id: string; storage_key: string }[] = [];
  const remove = () => discard(stored, deps);
  const digests = new Map<string, string>();
  try {
    for (const [i, { id, bytes }] of images.entries()) {
      const file = newFile(account_id, id);
      const facts = { content_type: types[i]!, metadata: null };
      const { sha256 } = await storeBytes(file, async () => facts, once(bytes), max_bytes, deps);
      stored.push(file);
      digests.set(fileId(id), sha256);
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
