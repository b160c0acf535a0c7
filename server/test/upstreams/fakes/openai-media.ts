import { createHmac } from 'node:crypto';
import {
  limits,
  missing,
  media,
  outputAnswer,
  type AcceptedJob,
  type Answer,
  type Biller,
  type Call,
  type FakeUpstream,
  type faultSwitch,
} from './kit.ts';
import { madeFile } from './made.ts';

/** Images and videos of the fake of OpenAI and compatible services. */

type Json = Record<string, any>;
type Switch = ReturnType<typeof faultSwitch>;
export type Service = 'openai' | 'openrouter';

export interface Desk {
  service: Service;
  biller?: Biller | undefined;
  switched: Switch;
  journal: AcceptedJob[];
  files: FakeUpstream['files'];
  secret: string;
  held: () => boolean;
  /** The number of outputs so far, because a test may clear the journal. */
  made: number;
  /** The address of the server, with its path. */
  url: () => string;
}

/** OpenAI's form of an error. */
export function errorAnswer(
  status: number,
  message: string,
  more: Json = {},
  headers: Record<string, string> = {},
): Answer {
  return {
    status,
    headers,
    json: { error: { message, type: null, param: null, code: null, ...more } },
  };
}

/** The refusal of a start that creates no job, if such a fault is switched on; otherwise null. */
export function refusal({ switched, service }: Desk): Answer | null {
  const busy = { type: 'requests', code: 'rate_limit_exceeded' };
  const quota = { type: 'insufficient_quota', code: 'insufficient_quota' };
  return switched.refusal({
    ...limits(9, (headers) => errorAnswer(429, 'Rate limit reached.', busy, headers)),
    'submit-503': errorAnswer(503, 'Loading model', { code: 503, type: 'unavailable_error' }),
    'submit-account':
      service === 'openrouter'
        ? errorAnswer(402, 'Insufficient credits.', { code: 402 })
        : errorAnswer(429, 'You exceeded your current quota.', quota),
    'submit-credential': errorAnswer(401, 'Incorrect API key provided.', {
      code: 'invalid_api_key',
    }),
    'submit-model': errorAnswer(404, 'The model does not exist.', { code: 'model_not_found' }),
    'submit-invalid': errorAnswer(400, 'Invalid value: size must be 1024x1024.', {
      type: 'invalid_request_error',
      param: 'size',
      code: 'invalid_value',
    }),
  });
}

/** The input of a JSON or multipart body, with its files. */
export async function inputOf(call: Call, desk: Desk): Promise<Json> {
  const type = call.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/')) return call.json<Json>();
  const form = await new Response(call.body, { headers: { 'content-type': type } }).formData();
  const input: Json = {};
  for (const [name, value] of form) {
    if (typeof value === 'string') {
      input[name] = value;
      continue;
    }
    const file_name = `${desk.files.size + 1}-${value.name}`;
    desk.files.set(file_name, Buffer.from(await value.arrayBuffer()));
    (input[name] ??= []).push({ file_name, content_type: value.type });
  }
  return input;
}

function accept(
  desk: Desk,
  id: string,
  { model, callback_url = null, ...input }: Json,
): AcceptedJob {
  const facts = { idempotency_key: null, callback_url, cancelled: false };
  const job: AcceptedJob = { id, model, input, ...facts };
  if (desk.biller) job.bill = desk.biller(job, desk.files);
  desk.journal.push(job);
  return job;
}

/** POST /images/generations and /images/edits. Models named after dall-e answer with addresses. */
export async function image(call: Call, desk: Desk): Promise<Answer> {
  const refused = refusal(desk);
  if (refused) return refused;
  const input = await inputOf(call, desk);
  const { id, bill } = accept(desk, `img_${++desk.made}`, input);
  const hidden = desk.switched.lost();
  if (hidden) return hidden;
  const { switched } = desk;
  if (switched.shows('finish-refused'))
    return errorAnswer(400, 'Your request was rejected by the safety system.', {
      type: 'image_generation_user_error',
      code: 'moderation_blocked',
    });
  if (bill) {
    const data = bill.made.map((made) => ({ b64_json: madeFile(made).toString('base64') }));
    return { json: { created: 1_790_000_000, data } };
  }
  const count = switched.shows('finish-empty') ? 0 : Number(input.n ?? 1);
  const length = switched.shows('output-several') ? 2 : count;
  const isUrl = String(input.model).startsWith('dall-e');
  const b64_json = media.png.toString('base64');
  const data = Array.from({ length }, (_, i) => {
    if (switched.shows('output-data')) return { url: `data:image/png;base64,${b64_json}` };
    return isUrl ? { url: `${desk.url()}/outputs/${id}-${i}.png` } : { b64_json };
  });
  const usage = { input_tokens: 12, output_tokens: 272, total_tokens: 284 };
  return { json: { created: 1_790_000_000, size: '1024x1024', data, ...(!isUrl && { usage }) } };
}

/** POST /videos, GET /videos/ID, GET /videos/ID/content. */
export function openVideos(desk: Desk) {
  const looks = new Map<string, number>();
  const { switched } = desk;
  const isRouter = desk.service === 'openrouter';

  function jobOf(id: string, status: string, more: Json = {}): Json {
    if (isRouter) {
      const polling_url = `${desk.url()}/videos/${id}`;
      return { id, polling_url, generation_id: `gen-${id}`, status, ...more };
    }
    const job = desk.journal.find((each) => each.id === id)!;
    const { seconds = '4', size = '720x1280', prompt } = job.input;
    const head = { id, object: 'video', model: job.model, status, created_at: 1_790_000_000 };
    return { ...head, progress: 0, seconds, size, prompt, error: null, ...more };
  }

  function finished(id: string): Json {
    const said = switched.is('poll-upper-case') ? 'SUCCEEDED' : 'completed';
    const error = { code: 'server_error', message: 'The generation failed.' };
    const policy = {
      code: 'moderation_blocked',
      message: 'The prompt is against the content policy.',
    };
    if (switched.is('finish-failed')) return jobOf(id, 'failed', { error });
    if (switched.is('finish-refused')) return jobOf(id, 'failed', { error: policy });
    if (!isRouter) return jobOf(id, said, { progress: 100, completed_at: 1_790_000_060 });
    const count = switched.is('finish-empty') ? 0 : switched.is('output-several') ? 2 : 1;
    const content = (_: unknown, i: number) => `${desk.url()}/videos/${id}/content?index=${i}`;
    const unsigned_urls = Array.from({ length: count }, content);
    return jobOf(id, said, { unsigned_urls, usage: { cost: 0.5, is_byok: false } });
  }

  function stateOf(id: string): Json {
    const seen = looks.get(id) ?? 0;
    if (!desk.held()) looks.set(id, seen + 1);
    const queued = isRouter ? 'pending' : 'queued';
    const early = switched.is('poll-at-once-done') ? 2 : 0;
    const step = seen + early;
    const capitals = switched.is('poll-upper-case');
    if (desk.held() || step === 0) return jobOf(id, capitals ? 'QUEUED' : queued);
    if (step === 1) return jobOf(id, capitals ? 'Processing' : 'in_progress', { progress: 40 });
    return switched.shows('poll-regress', 1) ? jobOf(id, queued) : finished(id);
  }

  function look(id: string): Answer {
    const unknown = errorAnswer(404, 'Video not found.', { code: 'video_not_found' });
    if (!desk.journal.some((job) => job.id === id)) return unknown;
    const hitch = switched.hitch({
      ...missing(unknown),
      'poll-500': errorAnswer(500, 'The server had an error.'),
      'poll-429': errorAnswer(429, 'Slow down.'),
      'poll-error-in-200': {
        json: { error: { message: 'The server had an error.', type: 'server_error' } },
      },
      'poll-unknown-word': { json: jobOf(id, 'percolating') },
    });
    return hitch ?? { json: stateOf(id) };
  }

  function content(id: string): Answer {
    if (!desk.journal.some((job) => job.id === id)) return errorAnswer(404, 'Video not found.');
    // The only way in which a video of OpenAI can be empty.
    if (switched.is('finish-empty'))
      return { headers: { 'content-type': 'video/mp4' }, body: Buffer.alloc(0) };
    return outputAnswer('mp4', switched);
  }

  return {
    async create(call: Call): Promise<Answer> {
      const refused = refusal(desk);
      if (refused) return refused;
      const input = await inputOf(call, desk);
      const { id } = accept(desk, `video_${++desk.made}`, input);
      const status = isRouter ? 'pending' : 'queued';
      return desk.switched.lost() ?? { status: isRouter ? 202 : 200, json: jobOf(id, status) };
    },
    get(path: string): Answer | null {
      const [, id, rest] = /^\/videos\/([^/]+)(\/content)?$/.exec(path) ?? [];
      if (id === undefined) return null;
      return rest === undefined ? look(id) : content(id);
    },
    callback(id: string, at: Date) {
      if (!isRouter) return null;
      const { status, ...data } = finished(id);
      const body = JSON.stringify({
        type: `video.generation.${status}`,
        created_at: at.toISOString(),
        data: { status, ...data },
      });
      const t = Math.floor(at.getTime() / 1000);
      const v1 = createHmac('sha256', desk.secret).update(`${t},${body}`).digest('hex');
      const headers = {
        'content-type': 'application/json',
        'x-openrouter-signature': `t=${t},v1=${v1}`,
        'x-openrouter-idempotency-key': `${id}-${status}`,
      };
      return { headers, body };
    },
  };
}
