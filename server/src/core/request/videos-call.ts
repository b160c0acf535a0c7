import { badField, badRequest } from '../bad-request.ts';
import type { Model } from '../catalog/catalog.ts';
import { invalid } from '../catalog/media-input.ts';
import { brokenRule, hasField, typeOf } from '../catalog/model-fields.ts';
import { isFilled, isGiven } from '../check.ts';
import { ApiError } from '../errors.ts';
import type { QuoteJson } from '../price/quote-json.ts';
import { sizeOf } from '../price/size.ts';
import { isFinal, type Output } from './request.ts';
import { chargedText, expiry, failureOf, type CardFacts, type Links } from './views.ts';
import type { Json } from '../../lib/json.ts';
import { givenIn, imageLists, openInput, readImage, type TranslatedInput } from './translated.ts';

/** OpenAI's Videos: calls as inputs of the queue, and requests as videos. Pure. */

/** A call after all checks that need no model. */
export interface VideosCall {
  model: string;
  body: Json;
  /** An address, a file id or a data address. */
  image: string | null;
}

/** @throws ApiError `bad_request`, which names the field */
export function readVideosCall(body: Json): VideosCall {
  const { model, input_reference: image } = body;
  if (!isFilled(model))
    throw badField('model', 'the id of a video model, as GET /v1/models?kind=video lists it');
  return { model, body, image: isGiven(image) ? readImage(image, 'input_reference') : null };
}

/** Fields that this service reads itself; all others are inputs of the model. */
const own = new Set(['model', 'input_reference']);
/** A length in one of these names is the model's own. */
const lengths = ['duration_seconds', 'duration', 'seconds'];
const pictures = ['image_url', ...imageLists];

/** @throws ApiError that names the field which the model cannot take */
export function videosInput(call: VideosCall, model: Model): TranslatedInput {
  if (model.kind === 'text') throw new ApiError('use_chat_completions', { param: 'model' });
  if (model.kind !== 'video')
    throw badRequest(
      'model',
      `${model.id} makes images. Send it to POST /v1/images/generations or POST /v1/queue/${model.id}.`,
    );
  const { fields, metadata } = givenIn(call.body, own, model);
  const { size, ...given } = fields;
  const { input, from, set } = openInput(given);
  Object.assign(input, given);
  const isStated = (name: string) => name === 'seconds' || !hasField(model, name);
  const [length, other] = lengths.filter((name) => name in given && isStated(name));
  if (other !== undefined) throw badRequest(other, `Send ${length} or ${other}, not both.`);
  if (length !== undefined) {
    delete input[length];
    set(length, lengthField(length, given[length], model));
  }
  // The queue understands a stated size itself.
  if (size !== undefined && size !== 'auto') input.size = readSize(size);
  if (call.image !== null) set('input_reference', imageField(call.image, model));
  demandImage(input, model);
  return { input, from, metadata };
}

function lengthField(name: string, value: unknown, model: Model): Json {
  const seconds = typeof value === 'string' ? Number(value.trim() || NaN) : value;
  if (typeof seconds !== 'number' || !(seconds > 0 && seconds < 1e6))
    throw badField(name, 'a number of seconds, such as 8');
  const field = lengths.find((each) => hasField(model, each));
  if (field === undefined) throw badField(name, `left out: ${model.id} makes videos of one length`);
  const form = typeOf(model, field) === 'string' ? String(seconds) : seconds;
  const rule = brokenRule(model, field, form);
  if (rule !== null) throw invalid(`/${name}`, rule);
  return { [field]: form };
}

function readSize(value: unknown): string {
  const { width = 0, height = 0 } = (isFilled(value) && sizeOf(value)) || {};
  if (isFilled(value) && width > 0 && height > 0) return value;
  throw badField('size', 'WIDTHxHEIGHT in pixels, such as 1280x720');
}

function imageField(image: string, model: Model): Json {
  const field = pictures.find((each) => hasField(model, each));
  if (field === undefined)
    throw badRequest('input_reference', `${model.id} takes no picture. Leave input_reference out.`);
  return { [field]: field === 'image_url' ? image : [image] };
}

function demandImage(input: Json, { id, input_schema: { required } }: Model): void {
  const missing = (field: string) =>
    Array.isArray(required) && required.includes(field) && !isGiven(input[field]);
  if (pictures.some(missing)) throw badField('input_reference', `a picture, which ${id} needs`);
}

/** The parts of a request that its video shows. */
export interface VideoRow extends CardFacts {
  expires_at: Date | null;
}

const states = {
  IN_QUEUE: 'queued',
  IN_PROGRESS: 'in_progress',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'failed',
} as const;

/** A request as OpenAI's video. `progress`: from 0 to 1, null if it is unknown. */
export function videoView(row: VideoRow, progress: number | null, outputs: Output[], links: Links) {
  const { status, input, created_at, completed_at, expires_at } = row;
  const percent = Math.floor(Math.min(Math.max(progress ?? 0, 0), 0.99) * 100);
  const failure = failureOf(row);
  const until = expires_at && Math.min(expires_at.getTime(), expiry(row, links).getTime());
  return {
    id: row.id,
    object: 'video' as const,
    model: row.model_id,
    status: states[status],
    progress: status === 'COMPLETED' ? 100 : isFinal(status) ? 0 : percent,
    created_at: inSeconds(created_at.getTime()),
    completed_at: completed_at && inSeconds(completed_at.getTime()),
    expires_at: until && inSeconds(until),
    prompt: typeof input.prompt === 'string' ? input.prompt : null,
    size: shownSize(input, outputs),
    seconds: shownSeconds(input, row.quote, outputs),
    remixed_from_video_id: null,
    error:
      status === 'CANCELLED'
        ? { code: 'cancelled', message: `The video was cancelled. ${chargedText(row)}` }
        : failure && { code: failure.code, message: failure.message },
  };
}

function inSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** As stated, else as made; `auto` until it is made. */
function shownSize({ size, width, height }: Json, outputs: Output[]): string {
  if (isFilled(size)) return size;
  if (typeof width === 'number' && typeof height === 'number') return `${width}x${height}`;
  const made = outputs.find((output) => output.width !== null);
  return made ? `${made.width}x${made.height}` : 'auto';
}

/** As asked, else as the price assumed, else as made. */
function shownSeconds(input: Json, { assumptions }: QuoteJson, outputs: Output[]): string {
  const asked = lengths.map((field) => input[field]).find(isGiven);
  const made = outputs.find((output) => output.duration_seconds !== null)?.duration_seconds;
  return String(asked ?? assumptions.duration_seconds ?? made ?? 'auto');
}
