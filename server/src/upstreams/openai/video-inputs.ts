import type { RequestCall } from '../../lib/outbound/fetch.ts';
import { formBody, type SentPart } from '../../lib/outbound/multipart.ts';
import type { Json } from '../../lib/json.ts';
import { InputRefused, mapMedia } from '../inputs.ts';
import { openMedia } from '../open-media.ts';
import { JsonBody } from '../json-body.ts';
import type { StartJob, UpstreamTools } from '../upstream.ts';
import { fileReader, partsOf } from './form.ts';
import type { OpenaiOptions } from './options.ts';

/** Makes the body of a video request in the server's form. */

type Medium = { field: string; url: string };
type UploadCall = { headers: Record<string, string>; body: RequestCall['body'] };

const fileMaxBytes = 50 * 1024 * 1024;
/** Largest file sent as data inside the JSON; larger ones are sent as a link, if we have one. */
const dataMaxBytes = 8 * 1024 * 1024;
/** Fields that a caller must not set. */
const keptBack = new Set(['model', 'callback_url', 'stream', 'n']);

/** The body of a start. `callback_url`: for callbacks; null: none. Throws `InputRefused`. */
export function videoBody(
  job: StartJob,
  kind: OpenaiOptions['videos'],
  callback_url: string | null,
  tools: UpstreamTools,
): Promise<UploadCall> {
  return kind === 'multipart' ? form(job, tools) : json(job, kind, callback_url, tools);
}

async function form(job: StartJob, tools: UpstreamTools): Promise<UploadCall> {
  const files: SentPart[] = [];
  const read = fileReader(fileMaxBytes);
  const fields = await fieldsOf(job, async (value, field) => {
    if (files.length > 0) throw untaken(field);
    const file = await openMedia(value, field, job, tools);
    const name = 'input_reference';
    files.push(await read(file, field, name));
    return null;
  });
  const texts = Object.entries(fields).flatMap(([name, value]) => partsOf(name, value));
  return formBody([{ name: 'model', content: job.model }, ...texts, ...files]);
}

async function json(
  job: StartJob,
  kind: OpenaiOptions['videos'],
  callback_url: string | null,
  tools: UpstreamTools,
): Promise<UploadCall> {
  const media: Medium[] = [];
  const body = new JsonBody();
  const fields = await fieldsOf(job, async (value, field) => {
    media.push({ field, url: await addressOf(value, field, job, tools, body) });
    return null;
  });
  const isRouter = kind === 'openrouter';
  // OpenAI accepts the seconds only as a text.
  if (!isRouter && typeof fields.seconds === 'number') fields.seconds = String(fields.seconds);
  return body.write({
    ...fields,
    ...(isRouter ? frames(media) : reference(media)),
    model: job.model,
    ...(callback_url !== null && { callback_url }),
  });
}

async function addressOf(
  value: string,
  field: string,
  job: StartJob,
  tools: UpstreamTools,
  body: JsonBody,
): Promise<string> {
  const isStored = Object.hasOwn(job.files, value);
  if (!isStored && /^(https?|data):/i.test(value)) return value;
  const file = await openMedia(value, field, job, tools);
  if (file.link && file.size > dataMaxBytes) return file.link;
  return body.address(file, field, dataMaxBytes);
}

/** The input without the fields that a caller must not set; media as `handOver` returns them. */
async function fieldsOf(
  job: StartJob,
  handOver: (value: string, field: string) => Promise<null>,
): Promise<Json> {
  const filled = await mapMedia(job, handOver);
  const kept = Object.entries(filled).filter(
    ([name, value]) => value !== null && !keptBack.has(name) && !isEmptied(value),
  );
  return Object.fromEntries(kept);
}

function isEmptied(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((item) => item === null);
}

function reference(media: Medium[]): Json {
  const [first, second] = media;
  if (second) throw untaken(second.field);
  return first ? { input_reference: { image_url: first.url } } : {};
}

/** The media fields of OpenRouter: a first and a last frame, and other references. */
function frames(media: Medium[]): Json {
  const frame_images: Json[] = [];
  const input_references: Json[] = [];
  for (const { field, url } of media) {
    const frame_type = frameTypes[field];
    const type = kindOf(field);
    if (frame_type) frame_images.push({ type, image_url: { url }, frame_type });
    else input_references.push({ type, [type]: { url } });
  }
  return {
    ...(frame_images.length > 0 && { frame_images }),
    ...(input_references.length > 0 && { input_references }),
  };
}

const frameTypes: Readonly<Record<string, string>> = {
  image_url: 'first_frame',
  start_image_url: 'first_frame',
  end_image_url: 'last_frame',
  last_image_url: 'last_frame',
};

function kindOf(field: string): string {
  const [, kind] = /(video|audio)_urls?$/.exec(field) ?? [];
  return `${kind ?? 'image'}_url`;
}

function untaken(field: string): InputRefused {
  return new InputRefused(`This model does not support ${field} together with the other files.`);
}
