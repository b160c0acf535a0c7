import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { formBody, type SentPart } from '../../lib/outbound/multipart.ts';
import { isSuccess } from '../../lib/outbound/fetch.ts';
import { mapMedia, InputRefused } from '../inputs.ts';
import { openMedia } from '../open-media.ts';
import { collectMedia, isMedium, underField } from '../outputs.ts';
import { jsonOf } from '../replies.ts';
import type { JobResult, StartJob, StartOutcome, UpstreamTools } from '../upstream.ts';
import { fileReader, partsOf } from './form.ts';
import type { OpenaiOptions } from './options.ts';
import { costIn, errorInBody, type OpenaiWire } from './wire.ts';

/** Room for ten images of several megabytes each as base64. */
const replyMaxBytes = 96 * 1024 * 1024;
const imageMaxBytes = 50 * 1024 * 1024;

/** By our media field, the field's name in an edit call. */
const mediaParts: Readonly<Record<string, 'image' | 'mask'>> = {
  image_url: 'image',
  image_urls: 'image',
  reference_image_urls: 'image',
  mask_url: 'mask',
};
/** Not copied from the input: they change the model or the answer's form, or are media. */
const keptBack = new Set(['model', 'stream', 'partial_images', ...Object.keys(mediaParts)]);

/**
 * Images, returned in the answer to the start. A start with only a prompt is sent as JSON, a start
 * with the caller's images as a form that contains their bytes.
 */
export function createImages(wire: OpenaiWire, options: OpenaiOptions, tools: UpstreamTools) {
  return async (job: StartJob): Promise<StartOutcome> => {
    const { files, fields } = await sortOut(job, tools);
    if (files.length === 0 && job.task !== 'text-to-image')
      throw new InputRefused('image_url is missing: there is nothing to edit.');
    const path = files.length === 0 ? '/images/generations' : '/images/edits';
    const { headers, body } =
      files.length === 0 ? asJson(job.model, fields) : asForm(job.model, fields, files);
    const reply = await wire.request(path, {
      method: 'POST',
      headers: { ...headers, ...wire.idOf(job.request_id), accept: 'application/json' },
      body,
      maxBytes: replyMaxBytes,
      timeoutMs: options.start_seconds * 1000,
      signal: job.signal,
    });
    if (!isSuccess(reply.status)) return wire.refusal(reply, job.model);
    return outcomeOf(valueIn(Buffer.from(reply.body)), (value) =>
      wire.withoutJob(value, reply.headers, job.model),
    );
  };
}

async function sortOut(
  job: StartJob,
  tools: UpstreamTools,
): Promise<{ files: SentPart[]; fields: Json }> {
  const files: SentPart[] = [];
  const read = fileReader(imageMaxBytes);
  const input = await mapMedia(job, async (value, field) => {
    const name = mediaParts[field];
    if (name === undefined) throw new InputRefused(`${field} is not supported by this model.`);
    const file = await openMedia(value, field, job, tools);
    files.push(await read(file, field, name, `${name}-${files.length + 1}`));
    return null;
  });
  // A count (`n`) is sent only if the row knows the field, because otherwise it is not priced.
  const isPriced = (name: string) => name !== 'n' || job.fields.includes(name);
  const kept = Object.entries(input).filter(
    ([name, value]) => !keptBack.has(name) && isPriced(name) && value !== null,
  );
  return { files, fields: Object.fromEntries(kept) };
}

function asJson(model: string, fields: Json) {
  const headers = { 'content-type': 'application/json' };
  return { headers, body: JSON.stringify({ ...fields, model }) };
}

function asForm(model: string, fields: Json, files: SentPart[]) {
  const isList = files.filter(({ name }) => name === 'image').length > 1;
  return formBody([
    { name: 'model', content: model },
    ...Object.entries(fields).flatMap(([name, value]) => partsOf(name, value)),
    ...files.map((file) => ({
      ...file,
      name: isList && file.name === 'image' ? 'image[]' : file.name,
    })),
  ]);
}

/** A few servers answer with the picture itself, or with events, of which the last ones count. */
function valueIn(body: Buffer): unknown {
  if (isMedium(body)) return { data: [{ b64_json: body.toString('base64') }] };
  if (!/^\s*(?:event|data|id|retry)?:/.test(body.toString('latin1', 0, 64))) return jsonOf(body);
  const lines = body.toString('utf8').split(/\r?\n/);
  const events = lines
    .filter((line) => line.startsWith('data:'))
    .map((line) => jsonOf(Buffer.from(line.slice('data:'.length))))
    .filter(isObject);
  const whole = events.filter(({ type }) => !/partial/.test(String(type)));
  return whole.length > 0 ? whole : undefined;
}

/** The outcome that the JSON of a successful reply tells. */
function outcomeOf(value: unknown, withoutJob: (value: unknown) => StartOutcome): StartOutcome {
  // A few servers answer with a bare list, or name it otherwise.
  const reply = objectOf(value);
  const lists = [reply.data, reply.images, reply.output, value].filter((each) =>
    Array.isArray(each),
  );
  const results = [...lists, value].map((list) => resultOf(reply, list));
  const [data] = lists;
  const result = results.find(({ media }) => media.length > 0) ?? results[0]!;
  if (result.media.length > 0) return { outcome: 'done', result };
  const told = withoutJob([reply, ...itemsOf(value)].find(errorInBody) ?? value);
  const isClear = told.outcome !== 'unknown' || told.answer === undefined;
  if (data === undefined || isClear) return told;
  const refused = withoutJob(data.find(errorInBody));
  return refused.outcome === 'rejected' ? refused : { outcome: 'done', result };
}

function resultOf(reply: Json, data: unknown): JobResult {
  const { media, fields: said } = collectMedia(data, 'images');
  const cost_usd_micro = costIn(reply);
  const [first] = itemsOf(data);
  const { revised_prompt } = isObject(first) ? first : {};
  return {
    media: underField(media, 'images'),
    fields: {
      ...(typeof revised_prompt === 'string' && { revised_prompt }),
      ...(said.left_out !== undefined && { left_out: said.left_out }),
    },
    ...(cost_usd_micro !== undefined && { cost_usd_micro }),
  };
}
