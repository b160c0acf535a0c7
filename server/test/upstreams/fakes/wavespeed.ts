import { createHmac, randomUUID } from 'node:crypto';
import {
  faultSwitch,
  limits,
  media,
  missing,
  outputAnswer,
  serve,
  type AcceptedJob,
  type Answer,
  type Biller,
  type Call,
  type FakeUpstream,
} from './kit.ts';
import { madeAt, madeFile } from './made.ts';

/** A fake of WaveSpeedAI, API version 3: the path is the model, the body is the input. */

const key = 'ws-0f1e2d3c4b5a69788796a5b4c3d2e1f0';
/** The signing key is the text after the prefix, undecoded, although it looks like base64. */
const secret = 'whsec_c2VjcmV0LW9mLXRoZS1mYWtlLXNlcnZlcg==';

interface Job extends AcceptedJob {
  looks: number;
  created_at: string;
}

const knownModels = [
  'wavespeed-ai/flux-schnell',
  'bytedance/seedream-v4/edit',
  'wavespeed-ai/wan-2.2/i2v-480p-ultra-fast',
];
const ok = (data: unknown): Answer => ({ json: { code: 200, message: 'success', data } });
const fault = (code: number, message: string, headers: Record<string, string> = {}): Answer => ({
  status: code,
  json: { code, message },
  headers,
});

/** With a biller it has every model, and makes that biller's outputs. */
export async function fakeWavespeed(biller?: Biller): Promise<FakeUpstream> {
  const journal: Job[] = [];
  const files = new Map<string, Buffer>();
  const switched = faultSwitch();
  let held = false;

  const server = await serve((call) => {
    const made = madeAt(call.path, journal);
    if (made) return { body: madeFile(made) };
    if (call.path.startsWith('/outputs/'))
      return outputAnswer(call.path.endsWith('.mp4') ? 'mp4' : 'png', switched);
    if (call.path.startsWith('/uploads/')) return { body: files.get(call.path.slice(9)) ?? '' };
    if (call.headers.authorization !== `Bearer ${key}`) return fault(401, 'Unauthorized');
    const [, look] = /^\/api\/v3\/predictions\/([^/]+)(?:\/result)?$/.exec(call.path) ?? [];
    if (call.method === 'GET' && look !== undefined) return predictionOf(look);
    const route = `${call.method} ${call.path}`;
    if (route === 'GET /api/v3/balance') return ok({ balance: 12.5 });
    if (route === 'GET /api/v3/models') return ok(knownModels.map((name) => ({ model_id: name })));
    if (route === 'POST /api/v3/media/upload/binary') return upload(call);
    if (call.method === 'POST') return create(call, call.path.replace('/api/v3/', ''));
    return fault(404, 'not found');
  });

  function create(call: Call, model: string): Answer {
    const refused = refusal();
    if (refused !== null) return refused;
    if (!biller && !knownModels.includes(model)) return fault(404, `model ${model} not found`);
    const input = call.json();
    if (!biller && typeof input.prompt !== 'string')
      return fault(400, 'property "prompt" is missing');
    const job: Job = {
      id: randomUUID().replaceAll('-', ''),
      model,
      input,
      idempotency_key: null,
      callback_url: call.query.get('webhook'),
      cancelled: false,
      looks: 0,
      created_at: new Date().toISOString(),
    };
    if (biller) job.bill = biller(job, files);
    journal.push(job);
    return switched.lost() ?? ok(prediction(job, 'created'));
  }

  function refusal(): Answer | null {
    return switched.refusal({
      ...limits(30, (headers) => fault(429, 'Too many requests', headers)),
      'submit-503': fault(503, 'Service unavailable'),
      'submit-account': fault(402, 'Insufficient credits'),
      'submit-credential': fault(401, `Invalid access key ${key}`),
      'submit-model': fault(404, 'model not found'),
      'submit-invalid': fault(400, 'property "size" is not allowed'),
    });
  }

  function predictionOf(id: string): Answer {
    const job = journal.find((each) => each.id === id);
    const unknown = fault(404, 'prediction not found');
    if (!job) return unknown;
    const hitch = switched.hitch({
      ...missing(unknown),
      'poll-500': fault(500, 'Internal error'),
      'poll-429': fault(429, 'Too many requests'),
      'poll-error-in-200': { json: { code: 500, message: 'storage is away' } },
    });
    return hitch ?? ok(prediction(job, stateOf(job)));
  }

  function stateOf(job: Job): string {
    const looks = job.looks++;
    if (switched.shows('poll-unknown-word', 1)) return 'warming';
    if (held) return 'processing';
    if (switched.is('poll-regress') && looks < 2) return looks === 0 ? 'processing' : 'created';
    if (switched.is('poll-at-once-done') || looks >= 2) return ending();
    const state = looks === 0 ? 'created' : 'processing';
    return switched.is('poll-upper-case') ? state.toUpperCase() : state;
  }

  function ending(): string {
    if (switched.is('finish-failed') || switched.is('finish-refused')) return 'failed';
    return switched.is('poll-upper-case') ? 'Succeeded' : 'completed';
  }

  function prediction(job: Job, status: string) {
    const { id, model, created_at } = job;
    const done = /^(?:completed|succeeded)$/i.test(status);
    const failed = status === 'failed';
    const refused = failed && switched.is('finish-refused');
    return {
      id,
      model,
      outputs: done ? outputs(job) : [],
      urls: { get: `${server.url}/api/v3/predictions/${id}/result` },
      has_nsfw_contents: refused ? [true] : done ? [false] : [],
      status,
      created_at,
      error: failed ? (refused ? 'Content flagged as NSFW.' : 'the worker has crashed') : '',
      executionTime: done ? 2500 : 0,
      timings: { inference: done ? 2500 : 0 },
    };
  }

  function outputs({ id, model, bill }: Job): string[] {
    if (bill) return bill.made.map(({ kind }, i) => `${server.url}/outputs/${id}-${i}.${kind}`);
    if (switched.is('finish-empty')) return [];
    if (switched.is('output-data'))
      return [`data:image/png;base64,${media.png.toString('base64')}`];
    const ending = /i2v|video/.test(model) ? 'mp4' : 'png';
    const count = switched.is('output-several') ? 2 : 1;
    return Array.from({ length: count }, (_, i) => `${server.url}/outputs/${id}-${i}.${ending}`);
  }

  async function upload({ headers, body }: Call): Promise<Answer> {
    const type = { 'content-type': headers['content-type'] ?? '' };
    const form = await new Response(new Uint8Array(body), { headers: type }).formData();
    const file = form.get('file');
    if (!(file instanceof File)) return fault(400, 'file is missing');
    files.set(file.name, Buffer.from(await file.arrayBuffer()));
    const download_url = `${server.url}/uploads/${file.name}`;
    return ok({ type: 'image', download_url, filename: file.name, size: file.size });
  }

  return {
    url: server.url,
    key,
    secret,
    journal,
    calls: server.calls,
    files,
    play: switched.play,
    mend: switched.mend,
    hold: (on) => void (held = on),
    callback(id, at = new Date()) {
      const job = journal.find((each) => each.id === id);
      if (!job) return null;
      return signedCallback(prediction(job, held ? 'processing' : ending()), at);
    },
    close: server.close,
  };
}

function signedCallback(content: unknown, at: Date) {
  const body = JSON.stringify(content);
  const id = randomUUID();
  const time = String(Math.floor(at.getTime() / 1000));
  const signature = createHmac('sha256', secret.slice('whsec_'.length))
    .update(`${id}.${time}.${body}`)
    .digest('hex');
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': `v3,${signature}`,
  };
  return { headers, body };
}
