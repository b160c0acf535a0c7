import { createHmac, timingSafeEqual } from 'node:crypto';
import { isSuccess } from '../../lib/outbound/fetch.ts';
import { objectOf, type Json } from '../../lib/json.ts';
import { digitsOf } from '../../lib/long-integers.ts';
import { jsonOf, pollFault, messageIn, objectIn } from '../replies.ts';
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
import { blamesInput, costIn, errorIn, type OpenaiWire } from './wire.ts';

const replyMaxBytes = 1024 * 1024;
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
        headers: { ...headers, accept: 'application/json' },
        body,
        maxBytes: replyMaxBytes,
        timeoutMs: startMs,
        signal: job.signal,
      });
      if (!isSuccess(reply.status)) return wire.refusal(reply, job.model);
      const value = objectIn(reply);
      const handle = value && handleIn(value, isRouter, wire);
      if (handle) return { outcome: 'accepted', handle };
      const error = errorIn(value);
      if (error !== null) return wire.inBand(error, reply.headers, job.model);
      return { outcome: 'unknown', message: 'its answer has no job id', answer: 'unreadable' };
    },

    async poll({ id, polling_url }: Handle, signal: AbortSignal): Promise<JobState> {
      const own = `/videos/${encodeURIComponent(String(id))}`;
      // The origin is checked again: our key is sent along, and the definition may have changed
      // since.
      const isOwn = typeof polling_url === 'string' && wire.isOwn(polling_url);
      const url = isOwn ? polling_url : wire.url + own;
      const headers = { ...wire.headers, accept: 'application/json' };
      const limits = { maxBytes: replyMaxBytes, timeoutMs: callMs, signal };
      const reply = await tools.fetch.request({ url, headers, ...limits });
      const value = objectIn(reply);
      const said = (otherwise: string) => wire.clean(messageIn(value) ?? otherwise);
      if (reply.status === 404)
        return { state: 'missing', message: said('it does not know the job') };
      if (!isSuccess(reply.status))
        throw pollFault(wire.refusal(reply, String(id)), said(`answered ${reply.status}`));
      if (!value) throw new Error('its answer could not be read');
      // An error outside a job object is about the call, not about the job.
      if (value.status === undefined) {
        const outcome = wire.inBand(errorIn(value), reply.headers, String(id));
        throw pollFault(outcome, said('its answer has no state'));
      }
      return stateIn(value, String(id), isRouter, wire);
    },
  };
}

/** OpenRouter accepts only https callbacks. A server at an http address, as in tests, gets any. */
function reaches(callback: string | null, wire: OpenaiWire): boolean {
  return callback !== null && (callback.startsWith('https:') || wire.url.startsWith('http:'));
}

/** A polling address is used only if it has the upstream's own origin. */
function handleIn(value: Json, isRouter: boolean, wire: OpenaiWire): Handle | null {
  const said = digitsOf(value.id ?? value.task_id);
  const id = typeof said === 'number' ? String(said) : said;
  if (typeof id !== 'string' || !/^(?!\.{1,2}$)\S{1,300}$/.test(id)) return null;
  const { polling_url } = value;
  if (!isRouter || typeof polling_url !== 'string' || polling_url.length > 2000) return { id };
  if (!URL.canParse(polling_url, wire.url)) return { id };
  const { href } = new URL(polling_url, wire.url);
  return wire.isOwn(href) ? { id, polling_url: href } : { id };
}

function stateIn(value: Json, id: string, isRouter: boolean, wire: OpenaiWire): JobState {
  const state = stateOf(value.status);
  if (state === 'running') {
    const progress = progressIn(value.progress);
    return progress === undefined ? { state } : { state, progress };
  }
  if (state === 'failed' || state === 'stopped') return { ...failureIn(value, wire), state };
  const cost_usd_micro = costIn(value);
  const cost = cost_usd_micro !== undefined && { cost_usd_micro };
  return { state, result: { media: mediaIn(value, id, isRouter, wire), fields: {}, ...cost } };
}

function mediaIn(value: Json, id: string, isRouter: boolean, wire: OpenaiWire): OutputMedia[] {
  const content = `${wire.url}/videos/${encodeURIComponent(id)}/content`;
  // Some gateways give the film's address, and have no call for its content.
  const own = [value.video_url, objectOf(value.video).url].find(isOfFilm);
  const listed = isRouter ? value.unsigned_urls : own && [own];
  const urls = Array.isArray(listed) ? listed.filter(isAddress) : [content];
  const field = urls.length > 1 ? 'videos' : 'video';
  return urls.map((url) => {
    // Our key is sent only to the upstream itself.
    const source = wire.isOwn(url) ? { url, headers: { ...wire.headers } } : { url };
    return { field, source, content_type: 'video/mp4' };
  });
}

function failureIn(value: Json, wire: OpenaiWire): JobState & { state: 'failed' } {
  const error = errorIn(value);
  const message = wire.clean(messageIn(error) ?? `the job ended as ${String(value.status)}`);
  const code = blamesInput(error, message) ? 'upstream_rejected' : 'upstream_failed';
  return { state: 'failed', code, message };
}

/** Progress as a share; servers report 0 to 100, some of them as a text. */
function progressIn(value: unknown): number | undefined {
  const percent = typeof value === 'string' ? Number.parseFloat(value) : value;
  if (typeof percent !== 'number' || !(percent >= 0 && percent <= 100)) return undefined;
  return percent / 100;
}

/** Whether a film can be fetched there: not inside a network, and not by the call for content. */
function isOfFilm(value: unknown): value is string {
  if (!isAddress(value)) return false;
  const { protocol, pathname } = new URL(value);
  return protocol === 'https:' && !/\/videos\/[^/]+\/content$/.test(pathname);
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
