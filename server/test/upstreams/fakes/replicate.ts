import { createHash, createHmac, randomBytes } from 'node:crypto';
import {
  faultSwitch,
  limits,
  missing,
  media,
  outputAnswer,
  serve,
  type AcceptedJob,
  type Answer,
  type Biller,
  type Call,
  type FakeUpstream,
} from './kit.ts';
import { madeFile } from './made.ts';

/**
 * A fake of Replicate's HTTP API. Its address ends in /v1; its outputs are outside of that path.
 */

const key = 'r8_FakeTokenOfReplicate000000000000000000';
const secret = `whsec_${Buffer.from('the signing secret of the fake').toString('base64')}`;
const owner = 'maker';
export const version = createHash('sha256').update('maker/pictures').digest('hex');

type Kind = 'png' | 'mp4' | 'wav' | 'words' | 'layers';
/** The models and the kinds of their outputs; others do not exist. */
const models: Record<string, { kind: Kind; list: boolean }> = {
  pictures: { kind: 'png', list: true },
  retouch: { kind: 'png', list: false },
  films: { kind: 'mp4', list: false },
  voices: { kind: 'wav', list: false },
  writer: { kind: 'words', list: true },
  layers: { kind: 'layers', list: false },
};
const deployments: Record<string, string> = { 'films-live': 'films' };

interface Job extends AcceptedJob {
  made: Kind;
  list: boolean;
  count: number;
  version: string;
  looks: number;
  /** The status in the last poll's answer. */
  status: string;
  created_at: string;
}

interface StoredFile {
  id: string;
  content: Buffer;
  content_type: string;
  metadata: unknown;
}

/** With a biller it has every model, and makes that biller's outputs. */
export async function fakeReplicate(biller?: Biller): Promise<FakeUpstream> {
  const journal: Job[] = [];
  const files = new Map<string, Buffer>();
  const stored = new Map<string, StoredFile>();
  const switched = faultSwitch();
  let held = false;

  const server = await serve((call) => {
    if (call.path.startsWith('/delivery/')) return delivered(call.path);
    if (call.path.startsWith('/v1/')) return answer(call, call.path.slice(3));
    return problem(404, 'The requested resource could not be found.');
  });
  const base = `${server.url}/v1`;

  function delivered(path: string): Answer {
    const [, , id, name = ''] = path.split('/');
    const made = journal.find((job) => job.id === id)?.bill?.made[Number.parseInt(name)];
    if (made) return { body: madeFile(made) };
    const ending = path.split('.').pop()!;
    return ending in media ? outputAnswer(ending as keyof typeof media, switched) : notFound();
  }

  async function answer(call: Call, path: string): Promise<Answer> {
    const { authorization } = call.headers;
    if (authorization !== `Bearer ${key}` && authorization !== `Token ${key}`)
      return problem(401, 'You did not pass a valid authentication token', 'Unauthenticated');
    const [, room, ...rest] = path.split('/');
    if (room === 'predictions') return predictions(call, rest);
    if (room === 'models') return modelCalls(call, rest);
    if (room === 'deployments') return deploymentCalls(call, rest);
    if (room === 'files') return fileCalls(call, rest);
    if (path === '/account')
      return { json: { type: 'organization', username: owner, name: owner } };
    if (path === '/webhooks/default/secret') return { json: { key: secret } };
    if (path === '/collections/official')
      return {
        json: { slug: 'official', name: 'Official', models: Object.keys(models).map(card) },
      };
    return notFound();
  }

  function predictions(call: Call, [id, verb]: string[]): Answer {
    if (id === undefined) {
      if (call.method === 'POST') return createByVersion(call);
      const results = journal.toReversed().map(view);
      return { json: { previous: null, next: null, results } };
    }
    const job = journal.find((each) => each.id === id);
    if (job === undefined) return notFound();
    if (call.method === 'POST' && verb === 'cancel') return cancel(job);
    return call.method === 'GET' && verb === undefined ? look(job) : notFound();
  }

  function createByVersion(call: Call): Answer {
    const wanted = call.json<{ version?: unknown }>().version;
    if (typeof wanted !== 'string') return invalid('version', 'version is required');
    const [name, hash = name] = wanted.split(':');
    const isOfficial = name!.startsWith(`${owner}/`) && !wanted.includes(':');
    if (!isOfficial && hash !== version)
      return problem(
        422,
        'The specified version does not exist (or perhaps you do not have permission to use it?)',
        'Invalid version or not permitted',
      );
    return create(call, isOfficial ? name!.slice(owner.length + 1) : 'pictures', 'version');
  }

  function modelCalls(call: Call, [maker, name, verb, hash]: string[]): Answer {
    if (maker === undefined)
      return { json: { next: null, previous: null, results: Object.keys(models).map(card) } };
    if (biller && verb === 'predictions') return create(call, `${maker}/${name}`, 'model');
    if (maker !== owner || !name || !Object.hasOwn(models, name)) return notFound();
    if (verb === 'predictions' && call.method === 'POST') return create(call, name, 'model');
    if (verb === 'versions') return hash === version ? { json: { id: version } } : notFound();
    return verb === undefined ? { json: card(name) } : notFound();
  }

  function deploymentCalls(call: Call, [maker, name, verb]: string[]): Answer {
    if (maker === undefined) {
      const results = Object.keys(deployments).map((each) => ({ owner, name: each }));
      return { json: { next: null, previous: null, results } };
    }
    if (maker !== owner || !name || !Object.hasOwn(deployments, name)) return notFound();
    if (verb === 'predictions' && call.method === 'POST')
      return create(call, deployments[name]!, 'deployment');
    return { json: { owner, name } };
  }

  function create(call: Call, name: string, by: 'model' | 'version' | 'deployment'): Answer {
    const refused = refusal(name);
    if (refused !== null) return refused;
    const { input, webhook, webhook_events_filter } = call.json();
    const wrong = biller ? null : inputFault(input);
    if (wrong !== null) return wrong;
    const filter = webhook_events_filter ?? ['start', 'output', 'logs', 'completed'];
    const { kind, list } = models[name] ?? { kind: 'png' as const, list: false };
    const job: Job = {
      id: randomBytes(13).toString('hex'),
      model: by === 'deployment' ? `deployments/${owner}/films-live` : `${owner}/${name}`,
      input,
      idempotency_key: null,
      callback_url: typeof webhook === 'string' && filter.includes('completed') ? webhook : null,
      cancelled: false,
      made: kind,
      list,
      count: typeof input.num_outputs === 'number' ? input.num_outputs : 1,
      version: by === 'version' ? version : 'hidden',
      looks: 0,
      status: 'starting',
      created_at: new Date().toISOString(),
    };
    if (biller) {
      job.model = name;
      job.bill = biller(job, files);
    }
    journal.push(job);
    const lost = switched.lost();
    if (lost !== null) return lost;
    const waits = String(call.headers.prefer ?? '').startsWith('wait');
    if (waits && !held) job.status = 'succeeded';
    return { status: waits && held ? 202 : 201, json: view(job) };
  }

  function refusal(name: string): Answer | null {
    const throttled = (headers: Record<string, string>): Answer => ({
      ...problem(429, `Request was throttled. ${resets(headers['retry-after'])}`),
      headers,
    });
    const resets = (after?: string) =>
      after === undefined
        ? 'Try again later.'
        : `Your rate limit resets in ~${after === '7' ? 7 : 30}s.`;
    if (!biller && !Object.hasOwn(models, name)) return notFound();
    const credit =
      'You have insufficient credit to run this model. Go to https://replicate.com/account/billing#billing to purchase credit.';
    return switched.refusal({
      ...limits(30, throttled),
      'submit-503': problem(503, 'The model is loading.'),
      'submit-account': problem(402, credit, 'Insufficient credit'),
      'submit-credential': problem(401, 'Invalid token.', 'Unauthenticated'),
      'submit-model': notFound(),
      'submit-invalid': invalid('input.prompt', 'prompt is too strange'),
    });
  }

  /** Each poll moves the job one step on: starting, processing, done. */
  function look(job: Job): Answer {
    const fault = pollFault();
    if (fault !== null) return fault;
    if (job.status === 'canceled') return { json: view(job) };
    const step = held ? Math.min(job.looks, 1) : job.looks++;
    const done = !held && (step >= 2 || switched.is('poll-at-once-done'));
    if (done || job.status === 'succeeded') return { json: ended(job) };
    job.status = step === 0 ? 'starting' : 'processing';
    if (switched.is('poll-regress')) job.status = step === 0 ? 'processing' : 'starting';
    if (switched.is('poll-upper-case')) job.status = job.status.toUpperCase();
    if (switched.shows('poll-unknown-word', 1))
      return { json: { ...view(job), status: 'warming' } };
    return { json: view(job) };
  }

  function pollFault(): Answer | null {
    return switched.hitch({
      ...missing(notFound()),
      'poll-500': problem(500, 'Internal server error'),
      'poll-429': problem(429, 'Request was throttled.'),
      'poll-error-in-200': { json: { detail: 'Something went wrong, try again.', status: 500 } },
    });
  }

  function ended(job: Job): unknown {
    job.status = 'succeeded';
    const fails = switched.is('finish-failed') || switched.is('finish-refused');
    if (fails) job.status = 'failed';
    const told = view(job);
    if (switched.is('finish-failed'))
      return { ...told, output: null, error: 'Prediction interrupted; please retry (code: PA)' };
    if (switched.is('finish-refused'))
      return {
        ...told,
        output: null,
        error: 'NSFW content detected. Try running it again, or try a different prompt.',
      };
    if (switched.is('finish-empty')) return { ...told, output: job.list ? [] : null };
    if (switched.is('finish-gone'))
      return { ...told, input: {}, output: null, logs: null, data_removed: true };
    return { ...told, status: switched.is('poll-upper-case') ? 'Completed' : told.status };
  }

  function cancel(job: Job): Answer {
    job.cancelled = true;
    if (!['succeeded', 'failed'].includes(job.status) && !switched.is('cancel-late'))
      job.status = 'canceled';
    return { json: view(job) };
  }

  function outputOf(job: Job): unknown {
    if (job.bill)
      return job.bill.made.map(
        ({ kind }, index) => `${server.url}/delivery/${job.id}/${index}.${kind}`,
      );
    if (job.made === 'words') return ['A light', 'house', ' at dusk.'];
    const address = (name: string, ending: string) =>
      switched.is('output-data')
        ? `data:image/png;base64,${media.png.toString('base64')}`
        : `${server.url}/delivery/${job.id}/${name}.${ending}`;
    if (job.made === 'layers')
      return { image: address('image', 'png'), mask: address('mask', 'png'), score: 0.5 };
    const count = switched.is('output-several') ? 2 : job.count;
    const all = Array.from({ length: count }, (_, i) => address(`out-${i}`, job.made));
    return job.list || count > 1 ? all : all[0];
  }

  function view(job: Job) {
    const { id, model, input, status, created_at } = job;
    const word = status.toLowerCase();
    const isOver = ['succeeded', 'failed', 'canceled'].includes(word);
    const started_at = word === 'starting' ? null : created_at;
    const url = `${base}/predictions/${id}`;
    return {
      id,
      model,
      version: job.version,
      input,
      logs:
        word === 'starting' ? '' : 'Using seed: 7\n 10%|█         | 1/10\r 50%|█████     | 5/10\n',
      output: word === 'succeeded' ? outputOf(job) : null,
      data_removed: false,
      error: null,
      status,
      source: 'api',
      created_at,
      started_at,
      completed_at: isOver ? created_at : null,
      metrics: isOver ? { predict_time: 1.25, total_time: 1.5 } : {},
      ...(job.callback_url !== null && { webhook: job.callback_url }),
      urls: { get: url, cancel: `${url}/cancel`, web: `https://replicate.com/p/${id}` },
    };
  }

  async function fileCalls(call: Call, [id]: string[]): Promise<Answer> {
    const url = (each: StoredFile) => `${base}/files/${each.id}`;
    const json = (each: StoredFile) => ({
      id: each.id,
      content_type: each.content_type,
      size: each.content.length,
      checksums: { sha256: createHash('sha256').update(each.content).digest('hex') },
      metadata: each.metadata,
      created_at: new Date().toISOString(),
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      urls: { get: url(each) },
    });
    if (id === undefined && call.method === 'POST') {
      const file = await fileIn(call);
      if (file === null) return invalid('content', 'Missing content');
      stored.set(file.id, file);
      files.set(file.id, file.content);
      return { status: 201, json: json(file) };
    }
    if (id === undefined)
      return { json: { next: null, previous: null, results: [...stored.values()].map(json) } };
    const file = stored.get(id);
    if (file === undefined) return notFound();
    if (call.method !== 'DELETE') return { json: json(file) };
    stored.delete(id);
    return { status: 204 };
  }

  function callback(id: string, at = new Date()) {
    const job = journal.find((each) => each.id === id);
    if (!job || job.callback_url === null) return null;
    const body = JSON.stringify(ended(job));
    return { headers: signed(body, at), body };
  }

  return {
    url: base,
    key,
    secret,
    journal,
    calls: server.calls,
    files,
    play: switched.play,
    mend: switched.mend,
    hold: (on) => void (held = on),
    callback,
    close: server.close,
  };
}

/** The headers of a callback with Replicate's signature. */
export function signed(body: string, at: Date): Record<string, string> {
  const id = `msg_${randomBytes(12).toString('hex')}`;
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')} v1,${signature}`,
  };
}

function problem(status: number, detail: string, title?: string): Answer {
  return { status, json: { ...(title && { title }), detail, status } };
}

const notFound = () => problem(404, 'The requested resource could not be found.', 'Not found');

function invalid(field: string, description: string): Answer {
  const json = {
    title: 'Input validation failed',
    detail: `- ${field}: ${description}\n`,
    status: 422,
    invalid_fields: [{ type: 'invalid', field, description }],
  };
  return { status: 422, json };
}

/**
 * Checks the input by a model's schema: a prompt, a count of 1 to 4, media as addresses, no null.
 */
function inputFault(input: any): Answer | null {
  if (typeof input !== 'object' || input === null) return invalid('input', 'input is required');
  for (const [field, value] of Object.entries(input))
    if (value === null)
      return invalid(`input.${field}`, 'Invalid type. Expected: string, given: null');
  if (typeof input.prompt !== 'string' && !input.image && !input.video)
    return invalid('input', 'prompt is required');
  if (input.num_outputs !== undefined && !(input.num_outputs >= 1 && input.num_outputs <= 4))
    return invalid('input.num_outputs', 'Must be less than or equal to 4');
  if (input.image !== undefined && !/^(https?:\/\/|data:)/.test(String(input.image)))
    return invalid('input.image', "Does not match format 'uri'");
  return null;
}

async function fileIn(call: Call): Promise<StoredFile | null> {
  const headers = { 'content-type': String(call.headers['content-type']) };
  const form = await new Response(call.body, { headers }).formData().catch(() => null);
  const content = form?.get('content');
  if (!(content instanceof File)) return null;
  const metadata = form!.get('metadata');
  return {
    id: randomBytes(16).toString('base64url'),
    content: Buffer.from(await content.bytes()),
    content_type: content.type,
    metadata:
      metadata instanceof File ? JSON.parse(await metadata.text()) : JSON.parse(metadata ?? '{}'),
  };
}

const FilmInput = {
  type: 'object',
  title: 'Input',
  required: ['prompt', 'image'],
  properties: {
    prompt: { type: 'string', 'x-order': 0 },
    image: { type: 'string', format: 'uri', description: 'First frame', 'x-order': 1 },
    duration: { type: 'integer', enum: [5, 10], default: 5, 'x-order': 2 },
    reference_images: { type: 'array', items: { type: 'string', format: 'uri' }, 'x-order': 3 },
    fps: { type: 'integer', enum: [24], default: 24, 'x-order': 4 },
  },
};

function exampleOutput(name: string): unknown {
  const { kind = 'png' } = models[name] ?? {};
  if (kind === 'words') return ['A ', 'lighthouse'];
  const ending = kind === 'layers' ? 'png' : kind;
  return [`https://replicate.delivery/abc/out.${ending}`];
}

function card(name: string) {
  const ratio = { type: 'string', enum: ['1:1', '16:9'], title: 'aspect_ratio', description: '' };
  const Input = {
    type: 'object',
    title: 'Input',
    required: ['prompt'],
    properties: {
      num_outputs: {
        type: 'integer',
        title: 'Num Outputs',
        default: 1,
        minimum: 1,
        maximum: 4,
        'x-order': 2,
      },
      aspect_ratio: {
        allOf: [{ $ref: '#/components/schemas/aspect_ratio' }],
        default: '1:1',
        'x-order': 1,
      },
      prompt: { type: 'string', title: 'Prompt', description: 'What to make', 'x-order': 0 },
    },
  };
  const Output = { type: 'array', items: { type: 'string', format: 'uri' }, title: 'Output' };
  return {
    url: `https://replicate.com/${owner}/${name}`,
    owner,
    name,
    description: `Makes ${name}`,
    visibility: 'public',
    run_count: 7,
    is_official: true,
    default_example: {
      id: 'abc',
      input: { prompt: 'a lighthouse' },
      output: exampleOutput(name),
      status: 'succeeded',
    },
    latest_version: {
      id: version,
      created_at: '2026-01-01T00:00:00.000Z',
      openapi_schema: {
        components: {
          schemas: { Input: name === 'films' ? FilmInput : Input, Output, aspect_ratio: ratio },
        },
      },
    },
  };
}
