import { isFilled, isGiven } from '../check.ts';
import type { Model } from '../catalog/catalog.ts';
import { acceptsValue, optionsOf, hasField } from '../catalog/model-fields.ts';
import { badField, badRequest } from '../bad-request.ts';
import { ApiError } from '../errors.ts';
import type { Json } from '../../lib/json.ts';
import { isOneOf } from '../../lib/records.ts';
import { sizeFields } from '../catalog/size-fields.ts';
import { sizeOf } from '../price/size.ts';
import { givenIn, imageLists, openInput, readImage, type TranslatedInput } from './translated.ts';

/** Translates calls of OpenAI's Images into inputs of the queue. */

const formats = ['url', 'b64_json'] as const;

export type ImagesDoor = 'generations' | 'edits';

/** A call after all checks that need no model. */
export interface ImagesCall {
  door: ImagesDoor;
  model: string;
  /** Null: the caller did not say, and gets both. */
  response_format: (typeof formats)[number] | null;
  body: Json;
  /** For edits: addresses, file ids or data addresses. */
  images: string[];
  mask: string | null;
}

/** Fields that this service reads itself, or that change no image; all others are inputs. */
const own = new Set(
  'model response_format stream partial_images image images mask user safety_identifier'.split(' '),
);
/** Fields that a model may have under the same name, with the values that mean its default. */
const options: Readonly<Record<string, unknown[]>> = {
  quality: ['auto', 'standard'],
  background: ['auto'],
  moderation: ['auto'],
  output_format: [],
  output_compression: [100],
  style: [],
  input_fidelity: ['low'],
  complexity: [],
  frame_count: [1],
  frame_duration_ms: [],
  markup: [],
};
/** Inputs that also state a size. If a call had two sizes, models would follow different ones. */
const otherSizes = ['resolution', 'aspect_ratio', 'image_size', 'width', 'height'];
const imagesMax = 16;
const masks = ['mask_url', 'mask_image_url'];

/** @throws ApiError `bad_request`, which names the field */
export function readImagesCall(door: ImagesDoor, body: Json): ImagesCall {
  const { model, response_format: format, stream, partial_images: partial } = body;
  if (!isFilled(model))
    throw badField('model', 'the id of an image model, as GET /v1/models?kind=image lists it');
  if (isGiven(stream) && stream !== false)
    throw badField('stream', 'false: images are not streamed. The call is answered at the end');
  if (isGiven(partial) && partial !== 0)
    throw badField('partial_images', '0: images are not streamed');
  const response_format = isOneOf(formats, format) ? format : null;
  if (isGiven(format) && response_format === null)
    throw badField('response_format', 'url or b64_json');
  const shared = { door, model, response_format, body };
  if (door === 'edits') return { ...shared, images: readImages(body), mask: readMask(body.mask) };
  const unsuited = ['image', 'images', 'mask'].find((field) => isGiven(body[field]));
  if (unsuited !== undefined)
    throw badRequest(unsuited, `${unsuited} is for POST /v1/images/edits. Send the call there.`);
  return { ...shared, images: [], mask: null };
}

function readImages({ image, images }: Json): string[] {
  const field = isGiven(images) ? 'images' : 'image';
  if (isGiven(image) && isGiven(images))
    throw badRequest('images', 'Send image or images, not both.');
  const given = isGiven(images) ? images : image;
  const list = Array.isArray(given) ? given : isGiven(given) ? [given] : [];
  if (list.length === 0 || list.length > imagesMax)
    throw badField(field, `1 to ${imagesMax} images`);
  return list.map((each, i) => readImage(each, Array.isArray(given) ? `${field}[${i}]` : field));
}

function readMask(mask: unknown): string | null {
  return isGiven(mask) ? readImage(mask, 'mask') : null;
}

/** @throws ApiError that names the field which the model cannot take */
export function imagesInput(call: ImagesCall, model: Model): TranslatedInput {
  demandDoor(call, model);
  const { fields, metadata } = givenIn(call.body, own, model);
  const { n, size, ...given } = fields;
  const { input, from, set } = openInput(given);
  for (const [field, value] of Object.entries(given)) {
    if (Object.hasOwn(options, field)) set(field, optionField(field, value, model));
    else input[field] = value;
  }
  if (n !== undefined) set('n', countField(n, model));
  if (size !== undefined && size !== 'auto') {
    const other = otherSizes.find((field) => Object.hasOwn(given, field));
    if (other !== undefined) throw badRequest('size', `Send size or ${other}, not both.`);
    set('size', fieldsOfSize(size, model));
  }
  if (call.images.length > 0) set('image', imageFields(call.images, model));
  if (call.mask !== null) set('mask', maskField(call.mask, model));
  return { input, from, metadata };
}

function fieldsOfSize(value: unknown, model: Model): Json {
  const size = typeof value === 'string' && /^\d+x\d+$/.test(value) ? sizeOf(value) : undefined;
  if (size === undefined || size.width === 0 || size.height === 0)
    throw badField('size', 'auto or WIDTHxHEIGHT in pixels, such as 1024x1024');
  const fields = sizeFields(size, model, (allowed) => badField('size', allowed));
  if (fields !== null) return fields;
  if (model.upstreams.every(({ input_defaults }) => input_defaults.size === value)) return {};
  throw badField('size', `left out: ${model.id} makes images of one size`);
}

function demandDoor({ door }: ImagesCall, model: Model): void {
  if (model.kind === 'text') throw new ApiError('use_chat_completions', { param: 'model' });
  if (model.kind !== 'image')
    throw badRequest('model', `${model.id} makes videos. Send it to POST /v1/queue/${model.id}.`);
  const edits = hasField(model, 'image_url') || imageLists.some((field) => hasField(model, field));
  const missing = !hasField(model, 'prompt')
    ? 'prompt'
    : door === 'edits' && !edits
      ? 'image'
      : null;
  if (missing !== null)
    throw badRequest(
      'model',
      `${model.id} takes no ${missing}, which this call needs. Send the inputs that GET /v1/models/${model.id} lists to POST /v1/queue/${model.id}.`,
    );
  const { required } = model.input_schema;
  const needsImage =
    Array.isArray(required) &&
    ['image_url', ...imageLists].some((field) => required.includes(field));
  if (door === 'generations' && needsImage)
    throw badRequest('model', `${model.id} needs an image. Send it to POST /v1/images/edits.`);
}

function optionField(field: string, value: unknown, model: Model): Json {
  const same: Record<string, string> = { jpeg: 'jpg', jpg: 'jpeg' };
  const forms = typeof value === 'string' ? [value, same[value]] : [value];
  const form = forms.find((each) => each !== undefined && acceptsValue(model, field, each));
  if (form !== undefined) return { [field]: form };
  const usual = options[field]!;
  if (usual.includes(value)) return {};
  if (!hasField(model, field)) throw unsupported(field, usual, model);
  const { values } = optionsOf(model, field);
  throw badField(
    field,
    values.length === 0 ? `a value that ${model.id} takes` : `one of ${values.join(', ')}`,
  );
}

function unsupported(field: string, usual: unknown[], model: Model): ApiError {
  const but = usual.length === 0 ? '' : `, or send ${usual.join(' or ')}`;
  return badRequest(field, `${model.id} has no input ${field}. Leave it out${but}.`);
}

function countField(n: unknown, model: Model): Json {
  if (!Number.isSafeInteger(n) || Number(n) < 1) throw badField('n', 'an integer from 1 on');
  if (hasField(model, 'num_images')) return { num_images: n };
  if (n === 1) return {};
  throw badField('n', `1: ${model.id} makes one image a call`);
}

/** The first image goes into a single field if there is one, the others into a list. */
function imageFields(images: string[], model: Model): Json {
  const list = imageLists.find((field) => hasField(model, field));
  if (!hasField(model, 'image_url')) return { [list!]: atMost(images, list!, 0, model) };
  const [first, ...others] = images;
  if (others.length === 0) return { image_url: first };
  if (list === undefined) throw badField('image', `one image: ${model.id} takes no more`);
  return { image_url: first, [list]: atMost(others, list, 1, model) };
}

function atMost(images: string[], field: string, before: number, model: Model): string[] {
  const { maxItems = imagesMax } = optionsOf(model, field);
  if (images.length <= maxItems) return images;
  throw badField('image', `at most ${maxItems + before} images for ${model.id}`);
}

function maskField(mask: string, model: Model): Json {
  const field = masks.find((each) => hasField(model, each));
  if (field !== undefined) return { [field]: mask };
  throw unsupported('mask', [], model);
}
