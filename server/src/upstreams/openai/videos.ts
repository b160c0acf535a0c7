import { createHmac, timingSafeEqual } from 'node:crypto';
import { isSuccess } from '../../lib/outbound/fetch.ts';
import { costInUsage } from '../../core/price/cost.ts';
import { isSideOutput, snakeCase } from '../../core/media/output-fields.ts';
import { objectOf, type Json } from '../../lib/json.ts';
import { digitsOf } from '../../lib/long-integers.ts';
import { collectMedia, isMediaAddress } from '../outputs.ts';
import {
  blamesInput,
  jsonOf,
  pollFault,
  messageIn,
  objectIn,
  progressOf,
  saysLater,
} from '../replies.ts';
import { stateOf } from '../states.ts';
import {
  CallbackRefused,
  type Callback,
  type Handle,
  type JobState,
  type OutputMedia,
  type StartJob,
  type StartOutcome,
  type UpstreamTools,
} from '../upstream.ts';
import type { OpenaiOptions } from './options.ts';
import { videoBody } from './video-inputs.ts';
import { costIn, errorInBody, type CallFailure, type OpenaiWire } from './wire.ts';

const startMaxBytes = 1024 * 1024;
/** The reply itself may contain the film. */
const pollMaxBytes = 64 * 1024 * 1024;
const callMs = 60_000;
/** Long, because the form may contain a video. */
const startMs = 120_000;

/** Videos in OpenAI's form and its variants. `callsBack`: a start has our callback address. */
export function createVideos(
  wire: OpenaiWire,
  { videos: kind }: OpenaiOptions,
  tools: UpstreamTools,
  callsBack: boolean,
) {
  const isRouter = kind === 'openrouter';

  return {
    async start(job: StartJob): Promise<StartOutcome> {
      const callback = callsBack && reaches(job.callback_url, wire) ? job.callback_url : null;
      const { headers, body } = await videoBody(job, kind, callback, tools);
      const reply = await wire.request('/videos', {
        method: 'POST',
        headers: { ...headers, ...wire.idOf(job.request_id), accept: 'application/json' },
        body,
        maxBytes: startMaxBytes,
        timeoutMs: startMs,
        signal: job.signal,
      });
      if (!isSuccess(reply.status)) return wire.refusal(reply, job.model);
      const value = objectIn(reply) ?? {};
      const { id, task_id, video_id, request_id } = value;
      const data = objectOf(value.data);
      const names = [id, task_id, video_id, data.task_id, data.id];
      const handle = handleIn(value, names, isRouter, wire);
      if (handle) return { outcome: 'accepted', handle };
      const told = wire.withoutJob(jsonOf(reply.body), reply.headers, job.model);
      // A call that was refused has a `request_id`, too.
      const isUnread = told.outcome === 'unknown' && told.answer === 'unreadable';
      const named = isUnread && handleIn(value, [request_id], isRouter, wire);
      return named ? { outcome: 'accepted', handle: named } : told;
    },

    async poll({ id, polling_url }: Handle, signal: AbortSignal): Promise<JobState> {
      const own = `/videos/${encodeURIComponent(String(id))}`;
      // The origin is checked again: our key is sent along, and the definition may have changed
      // since.
      const isOwn = typeof polling_url === 'string' && wire.isOwn(polling_url);
      const url = isOwn ? polling_url : wire.url + own;
      const headers = { ...wire.headers, accept: 'application/json' };
      const limits = { maxBytes: pollMaxBytes, timeoutMs: callMs, signal };
      const reply = await tools.fetch.request({ url, headers, ...limits });
      const value = objectIn(reply);
      const said = (otherwise: string) => wire.clean(messageIn(value) ?? otherwise);
      const { status } = reply;
      const refusal = isSuccess(status) ? null : wire.refusal(reply, String(id));
      if (status === 404 || (refusal && isGone(status, refusal)))
        return { state: 'missing', message: said('it does not know the job') };
      if (refusal) throw pollFault(refusal, said(`answered ${status}`));
      if (saysLater(reply)) return { state: 'running' };
      if (reply.truncated) {
        const message = "The job's answer with its film is too large.";
        return { state: 'failed', code: 'upstream_failed', message };
      }
      if (!value) throw new Error('its answer could not be read');
      // An error outside a job object is about the call, not about the job.
      const error = value.status === undefined ? errorInBody(value) : null;
      if (error !== null) {
        const outcome = wire.inBand(error, reply.headers, String(id));
        throw pollFault(outcome, said('its answer has no state'));
      }
      return stateIn(value, String(id), isRouter, wire);
    },
  };
}

/** A 400 may also say that the job is not ready. */
function isGone(status: number, refusal: CallFailure): boolean {
  const isOfJob =
    refusal.outcome === 'rejected' ||
    (refusal.outcome === 'not_accepted' && refusal.why === 'model');
  return isOfJob && (status === 410 || (status === 400 && unknownWords.test(refusal.message)));
}

const unknownWords = /unknown|not (?:be )?found|no such|not exist|expired|invalid (?:\w+ )?id\b/i;

/** OpenRouter accepts only https callbacks. A server at an http address, as in tests, gets any. */
function reaches(callback: string | null, wire: OpenaiWire): boolean {
  return callback !== null && (callback.startsWith('https:') || wire.url.startsWith('http:'));
}

/** A polling address is used only if it has the upstream's own origin. */
function handleIn(
  { polling_url }: Json,
  names: unknown[],
  isRouter: boolean,
  wire: OpenaiWire,
): Handle | null {
  const id = names
    .map(digitsOf)
    .map((name) => (typeof name === 'number' ? String(name) : name))
    .find((name) => typeof name === 'string' && /^(?!\.{1,2}$)\S{1,300}$/.test(name));
  if (typeof id !== 'string') return null;
  if (!isRouter || typeof polling_url !== 'string' || polling_url.length > 2000) return { id };
  if (!URL.canParse(polling_url, wire.url)) return { id };
  const { href } = new URL(polling_url, wire.url);
  return wire.isOwn(href) ? { id, polling_url: href } : { id };
}

function stateIn(value: Json, id: string, isRouter: boolean, wire: OpenaiWire): JobState {
  const state = stateOf(value.status);
  if (state === 'running') {
    // 1 is one per cent, 0.5 a half.
    const most = Number.isInteger(Number(value.progress)) ? 100 : null;
    const progress = progressOf(value.progress, most);
    return progress === undefined ? { state } : { state, progress };
  }
  if (state === 'failed' || state === 'stopped') return { ...failureIn(value, wire), state };
  const cost_usd_micro = costIn(value) ?? costInUsage(objectOf(value.outputs)) ?? undefined;
  const cost = cost_usd_micro !== undefined && { cost_usd_micro };
  return { state, result: { media: mediaIn(value, id, isRouter, wire), fields: {}, ...cost } };
}

function mediaIn(value: Json, id: string, isRouter: boolean, wire: OpenaiWire): OutputMedia[] {
  const content = `${wire.url}/videos/${encodeURIComponent(id)}/content`;
  const listed = isRouter ? value.unsigned_urls : undefined;
  const sources = Array.isArray(listed)
    ? listed.filter(isAddress).map((url) => ({ url }))
    : // Some gateways give the film's address, and have no call for its content.
      [filmIn(value, wire) ?? { url: content }];
  const field = sources.length > 1 ? 'videos' : 'video';
  return sources.map((source) => {
    // Our key is sent only to the upstream itself.
    const isOwn = 'url' in source && wire.isOwn(source.url);
    const headers = isOwn && { headers: { ...wire.headers } };
    return { field, source: { ...source, ...headers }, content_type: 'video/mp4' };
  });
}

/** Fields with what a job made, the surest first. */
const outputFields =
  'output outputs result results video videos video_url data content output_url result_url download_url urls url'.split(
    ' ',
  );
/** Fields of a job with what the caller sent, and with other media than films. */
const otherField =
  /prompt|model|error|image|picture|audio|gif|cover|request|param|arg|option|setting|config|payload|driv|ref|target|template|motion|base_video|raw|upload|user|hook|callback/;
const isOther = (name: string) => otherField.test(snakeCase(name)) || isSideOutput(name);

/** The job's film: several addresses are of the same one. Undefined if there is none. */
function filmIn(value: Json, wire: OpenaiWire): OutputMedia['source'] | undefined {
  const { metadata, ...own } = value;
  const first = outputFields.filter((name) => Object.hasOwn(own, name));
  const fields = [
    ...first.map((name) => [name, own[name]] as const),
    ...Object.entries({ ...objectOf(metadata), ...own }),
  ];
  for (const [index, [name, each]] of fields.entries()) {
    if (isOther(name)) continue;
    const found = collectMedia({ [name]: each }, 'video').media.find(({ field, source }) => {
      const isOutput = index < first.length && outputFields.includes(snakeCase(field!));
      return !isOther(field!) && (!('url' in source) || isOfFilm(source.url, isOutput, wire));
    });
    if (found) return found.source;
  }
  return undefined;
}

function failureIn(value: Json, wire: OpenaiWire): JobState & { state: 'failed' } {
  const error = errorInBody(value);
  const words = messageIn(error ?? value);
  const message = wire.clean(words ?? `the job ended as ${String(value.status)}`);
  const code = blamesInput(error, message) ? 'upstream_rejected' : 'upstream_failed';
  return { state: 'failed', code, message };
}

/**
 * Whether a film can be fetched there: not inside a network, and not by a call of the API.
 * `isOutput`: its field says that it is of an output, so that it needs no extension of a film.
 */
function isOfFilm(value: unknown, isOutput: boolean, wire: OpenaiWire): value is string {
  if (!isAddress(value)) return false;
  const { protocol, pathname, href } = new URL(value);
  if (protocol !== 'https:' || /\/videos\/[^/]+\/content$/.test(pathname)) return false;
  const isBare = isOutput && !isMediaAddress(href) && !href.startsWith(`${wire.url}/`);
  return isBare || /\.(?:mp4|m4v|mov|webm|mkv)$/i.test(pathname);
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value);
}

const callbackMaxSeconds = 300;

/** OpenRouter signs `t=SECONDS,v1=HEX`: an HMAC-SHA256 over the seconds, a comma and the body. */
export function createCallback(secret: string | null, now: () => number) {
  return async ({ headers, body }: Callback): Promise<Handle | null> => {
    if (secret === null) throw new CallbackRefused('there is no secret to verify a callback with');
    const signature = headers['x-openrouter-signature'] ?? '';
    const fields = signature.split(',').map((part) => part.trim());
    const seconds = /^t=(\d{1,12})$/.exec(fields.find((each) => each.startsWith('t=')) ?? '')?.[1];
    if (seconds === undefined) throw new CallbackRefused('it is not signed');
    const proof = createHmac('sha256', secret).update(`${seconds},`).update(body).digest();
    const isProven = fields.some((each) => each.startsWith('v1=') && equals(each.slice(3), proof));
    if (!isProven) throw new CallbackRefused('its signature is wrong');
    if (Math.abs(now() / 1000 - Number(seconds)) > callbackMaxSeconds)
      throw new CallbackRefused('it is too old, or a clock is wrong');
    const { id } = objectOf(objectOf(jsonOf(body)).data);
    return typeof id === 'string' ? { id } : null;
  };
}

function equals(hex: string, proof: Buffer): boolean {
  const given = Buffer.from(hex, 'hex');
  return given.length === proof.length && timingSafeEqual(given, proof);
}
