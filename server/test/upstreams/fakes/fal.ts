import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { falModel } from './fal-models.ts';
import { madeFile } from './made.ts';
import {
  faultSwitch,
  limits,
  missing,
  media,
  outputAnswer,
  serve,
  type AcceptedJob,
  type Answer,
  type Bill,
  type Biller,
  type Call,
  type FakeUpstream,
} from './kit.ts';

/**
 * A fake fal.ai: queue, storage, prices and the keys of callbacks, all under one address. A model
 * whose name mentions video or lips makes a video, any other an image.
 */

interface Job extends AcceptedJob {
  /** `fal-ai/flux` of `fal-ai/flux/dev`: the part of the model's id that a job's addresses have. */
  app: string;
  looks: number;
}

export const falKey = 'fal-key-id:fal-key-secret';
export const falUserId = 'fal-user-1';
const prices: Record<string, { unit_price: number; unit: string; currency: string }> = {
  'fal-ai/flux/dev': { unit_price: 0.025, unit: 'megapixels', currency: 'USD' },
  'fal-ai/test-video': { unit_price: 0.05, unit: 'seconds', currency: 'USD' },
  'fal-ai/euro': { unit_price: 1, unit: 'images', currency: 'EUR' },
};
/** The billed units of each result. */
export const billedUnits = '1.5';
const pageSize = 2;

export interface FakeFal extends FakeUpstream {
  /** Signs later callbacks with another key of the list. */
  rotate(): void;
  /** Replies to submits contain addresses of this origin; null: the fake's own. */
  pointTo(origin: string | null): void;
}

/** With a biller it makes that biller's outputs, and reports costs in dollars. */
export async function fakeFal(biller?: Biller): Promise<FakeFal> {
  const switched = faultSwitch();
  const jobs = new Map<string, Job>();
  const journal: Job[] = [];
  const files = new Map<string, Buffer>();
  const parts = new Map<string, Map<number, Buffer>>();
  let pair = generateKeyPairSync('ed25519');
  let held = false;
  let pointed: string | null = null;

  const answer = (call: Call): Answer => {
    const { method, path } = call;
    if (path === '/.well-known/jwks.json') return { json: { keys: [jwk()] } };
    if (path.startsWith('/outputs/')) return output(path);
    if (method === 'PUT' && path.startsWith('/upload/')) return stored(call);
    if (method === 'POST' && path.startsWith('/upload/')) return assembled(call);
    if (call.headers.authorization !== `Key ${falKey}` || switched.is('submit-credential'))
      return { status: 401, json: { detail: 'No user found for Key ID and Secret' } };
    if (path === '/v1/models') return modelPage(call);
    if (path === '/v1/models/pricing') return pricing(call);
    if (path.startsWith('/storage/upload/')) return initiated(call);
    const [, app = '', id = '', verb] =
      /^\/((?:workflows\/|comfy\/)?[^/]+\/[^/]+)\/requests\/([^/]+)(?:\/(.+))?$/.exec(path) ?? [];
    if (id === '') return method === 'POST' ? submit(call) : notFound();
    const job = jobs.get(id);
    if (job?.app !== app) return verb === 'cancel' ? unknownCancel() : notFound();
    if (method === 'PUT' && verb === 'cancel') return cancel(job);
    if (method === 'GET' && verb === 'status') return status(job, call);
    if (method === 'GET' && verb === 'status/stream') return statusStream(job, call);
    return method === 'GET' && verb === undefined ? result(job) : notFound();
  };
  const served = await serve(answer);

  const jwk = () => ({ ...pair.publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'EdDSA' });
  const notFound = (): Answer => ({ status: 404, json: { detail: 'Request not found' } });
  const unknownCancel = (): Answer => ({ status: 404, json: { status: 'NOT_FOUND' } });

  // ── Submit ────────────────────────────────────────────────────────────────────────────────────
  function submit(call: Call): Answer {
    const refused = refusal();
    if (refused) return refused;
    const model = call.path.slice(1);
    const steps = model.split('/');
    const isNamespaced = steps[0] === 'workflows' || steps[0] === 'comfy';
    const job: Job = {
      id: randomUUID(),
      model,
      app: steps.slice(0, isNamespaced ? 3 : 2).join('/'),
      input: call.json(),
      idempotency_key: null,
      callback_url: call.query.get('fal_webhook'),
      cancelled: false,
      looks: 0,
    };
    if (biller) job.bill = biller(job, files);
    jobs.set(job.id, job);
    journal.push(job);
    return switched.lost() ?? { json: { status: 'IN_QUEUE', ...namesOf(job), queue_position: 0 } };
  }

  function refusal(): Answer | null {
    const balance =
      'User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.';
    const json = { detail: 'Too many requests' };
    return switched.refusal({
      ...limits(7, (headers) => ({ status: 429, headers, json })),
      'submit-503': platformError(503, 'runner_scheduling_failure', 'No runner is available'),
      'submit-account': { status: 403, json: { detail: balance } },
      'submit-model': { status: 404, json: { detail: "Application 'no-such-app' not found" } },
      'submit-invalid': invalid('prompt', 'Field required', 'missing'),
    });
  }

  const platformError = (code: number, error_type: string, detail: string): Answer => ({
    status: code,
    headers: { 'x-fal-error-type': error_type, 'x-fal-retryable': 'true' },
    json: { detail, error_type },
  });

  const invalid = (field: string, msg: string, type: string): Answer => ({
    status: 422,
    headers: { 'x-fal-retryable': 'false' },
    json: { detail: [{ loc: ['body', field], msg, type, url: 'https://docs.fal.ai/errors' }] },
  });

  function namesOf({ app, id }: Job) {
    const own = `${pointed ?? served.url}/${app}/requests/${id}`;
    return {
      request_id: id,
      response_url: own,
      status_url: `${own}/status`,
      cancel_url: `${own}/cancel`,
    };
  }

  // ── Status ────────────────────────────────────────────────────────────────────────────────────
  function status(job: Job, { query }: Call): Answer {
    const hitch = hitchOf();
    if (hitch) return hitch;
    const told = statusOf(job, query.get('logs') === '1');
    return { status: /^completed$/i.test(told.status) ? 200 : 202, json: told };
  }

  function hitchOf(): Answer | null {
    return switched.hitch({
      ...missing(notFound()),
      'poll-500': { status: 500, json: { detail: 'Internal error' } },
      'poll-504': { status: 504, json: { detail: 'Gateway Timeout' } },
      'poll-429': { status: 429, json: { detail: 'Slow down' } },
      'poll-error-in-200': { json: { detail: 'Internal error', error_type: 'internal_error' } },
    });
  }

  function statusOf(job: Job, withLogs: boolean) {
    if (!held) job.looks++;
    const word = wordOf(job);
    const logs = withLogs && word !== 'IN_QUEUE' ? [logLine('drawing')] : [];
    return {
      status: switched.is('poll-upper-case') ? word.toLowerCase() : word,
      ...namesOf(job),
      ...(word === 'IN_QUEUE' && { queue_position: 0 }),
      ...(withLogs && word !== 'IN_QUEUE' && { logs }),
      ...(word === 'COMPLETED' && { metrics: { inference_time: 1.2 } }),
    };
  }

  function wordOf(job: Job): string {
    const { looks } = job;
    if (isCancelled(job)) return 'COMPLETED';
    if (switched.is('poll-at-once-done')) return 'COMPLETED';
    if (looks > 2) return 'COMPLETED';
    if (switched.is('poll-regress')) return looks === 1 ? 'IN_PROGRESS' : 'IN_QUEUE';
    if (switched.shows('poll-unknown-word', 1)) return 'WARMING_UP';
    return looks === 2 ? 'IN_PROGRESS' : 'IN_QUEUE';
  }

  const logLine = (message: string) => ({
    message,
    level: 'INFO',
    source: 'USER',
    timestamp: '2026-01-01T00:00:00Z',
  });

  function statusStream(job: Job, { query }: Call): Answer {
    const events: string[] = [];
    let word = '';
    while (word !== 'COMPLETED' && events.length < 5) {
      const told = statusOf(job, query.get('logs') === '1');
      word = told.status;
      events.push(`data: ${JSON.stringify(told)}\n\n`);
    }
    return { headers: { 'content-type': 'text/event-stream' }, body: events.join('') };
  }

  // ── Result ────────────────────────────────────────────────────────────────────────────────────
  const isCancelled = (job: Job) => job.cancelled && !switched.is('cancel-late');
  const isOver = (job: Job) =>
    job.looks > 2 || isCancelled(job) || switched.is('poll-at-once-done');

  function result(job: Job): Answer {
    if (!isOver(job)) return { status: 400, json: { detail: 'Request is still in progress' } };
    const ended = endOf(job);
    return { ...ended, headers: { 'x-fal-request-id': job.id, ...ended.headers } };
  }

  function endOf(job: Job): Answer {
    if (isCancelled(job))
      return platformError(499, 'client_cancelled', 'Request was cancelled by the client');
    if (switched.shows('finish-failed')) {
      const json = { detail: 'CUDA ran out of memory, see https://fal.ai/dashboard/logs' };
      return { status: 500, headers: { 'x-fal-retryable': 'false' }, json };
    }
    if (switched.shows('finish-refused'))
      return invalid('prompt', 'The content was flagged by a filter', 'content_policy_violation');
    if (switched.shows('finish-result-422'))
      return invalid('seed', 'Input should be a valid integer', 'int_parsing');
    if (switched.shows('finish-gone')) return notFound();
    const units = job.bill ? String(job.bill.usd) : billedUnits;
    return { headers: { 'x-fal-billable-units': units }, json: payloadOf(job) };
  }

  function payloadOf(job: Job): Record<string, unknown> {
    const seed = 7;
    if (job.bill) return { ...billedPayload(job.id, job.bill), seed };
    const isFilm = /video|lip/.test(job.model);
    if (switched.is('finish-empty')) return isFilm ? { video: null, seed } : { images: [], seed };
    const count = switched.is('output-several') ? 2 : 1;
    const made = Array.from({ length: count }, (_, index) => fileOf(job, index, isFilm));
    if (isFilm && count === 1) return { video: made[0], seed };
    if (isFilm) return { videos: made, seed };
    const sizes = made.map((file) => ({ ...file, width: 8, height: 8 }));
    return { images: sizes, seed, has_nsfw_concepts: made.map(() => false), prompt: '' };
  }

  function billedPayload(id: string, { made }: Bill): Record<string, unknown> {
    const files = made.map(({ kind }, index) => ({
      url: `${served.url}/outputs/${id}/${index}.${kind}`,
      file_name: `${index}.${kind}`,
    }));
    return made[0]?.kind === 'mp4' ? { video: files[0] } : { images: files };
  }

  function fileOf(job: Job, index: number, isFilm: boolean) {
    const kind = isFilm ? 'mp4' : 'png';
    const content_type = isFilm ? 'video/mp4' : 'image/png';
    const data = `data:${content_type};base64,${media[kind].toString('base64')}`;
    const address = `${served.url}/outputs/${job.id}/${index}.${kind}`;
    return {
      url: switched.is('output-data') ? data : address,
      content_type,
      file_name: `${index}.${kind}`,
      file_size: media[kind].length,
    };
  }

  function output(path: string): Answer {
    const [, , id = '', name = ''] = path.split('/');
    const made = jobs.get(id)?.bill?.made[Number.parseInt(name)];
    if (made) return { body: madeFile(made) };
    return outputAnswer(path.endsWith('.mp4') ? 'mp4' : 'png', switched);
  }

  function cancel(job: Job): Answer {
    if (isOver(job)) return { status: 400, json: { status: 'ALREADY_COMPLETED' } };
    job.cancelled = true;
    return { status: 202, json: { status: 'CANCELLATION_REQUESTED' } };
  }

  // ── Storage ───────────────────────────────────────────────────────────────────────────────────
  function initiated(call: Call): Answer {
    const { file_name } = call.json<{ file_name: string }>();
    const name = `${randomUUID()}-${file_name}`;
    if (call.path.endsWith('/initiate-multipart')) parts.set(name, new Map());
    const upload_url = `${served.url}/upload/${name}?permit=1`;
    return { json: { file_url: `${served.url}/files/${name}`, upload_url } };
  }

  function stored({ path, body, headers }: Call): Answer {
    const [, , name = '', part] = path.split('/');
    if (headers['content-length'] === undefined) return { status: 411 };
    if (part === undefined) {
      files.set(name, body);
      return { status: 200 };
    }
    parts.get(name)?.set(Number(part), body);
    return { json: { partNumber: Number(part), etag: `etag-${part}` } };
  }

  function assembled(call: Call): Answer {
    const [, , name = ''] = call.path.split('/');
    const listed = call.json<{ parts: { partNumber: number; etag: string }[] }>().parts;
    const held = parts.get(name);
    if (!held || listed.some(({ partNumber, etag }) => etag !== `etag-${partNumber}`))
      return { status: 400, json: { detail: 'invalid parts' } };
    files.set(name, Buffer.concat(listed.map(({ partNumber }) => held.get(partNumber)!)));
    return { json: { ok: true } };
  }

  // ── Models and prices ─────────────────────────────────────────────────────────────────────────
  function modelPage({ query }: Call): Answer {
    const asked = query.getAll('endpoint_id');
    const expands = query.get('expand') === 'openapi-3.0';
    if (expands && (asked.length === 0 || asked.length > 10))
      return { status: 400, json: { error: { type: 'validation_error', message: 'too many' } } };
    if (asked.length > 0) {
      const models = asked.map((id) => (prices[id] ? falModel(id, expands) : { endpoint_id: id }));
      return { json: { models, has_more: false, next_cursor: null } };
    }
    const from = Number(query.get('cursor') ?? 0);
    const ids = Object.keys(prices);
    const models = ids.slice(from, from + pageSize).map((id) => falModel(id, false));
    const next = from + pageSize;
    const has_more = next < ids.length;
    return { json: { models, has_more, next_cursor: has_more ? String(next) : null } };
  }

  function pricing({ query }: Call): Answer {
    const ids = query.getAll('endpoint_id');
    if (biller) {
      const dollars = { unit_price: 1, unit: 'dollars', currency: 'USD' };
      const told = ids.map((endpoint_id) => ({ endpoint_id, ...dollars }));
      return { json: { prices: told, has_more: false, next_cursor: null } };
    }
    const missing = ids.find((id) => !prices[id]);
    if (missing !== undefined) {
      const error = { type: 'not_found', message: `Endpoint ${missing} was not found` };
      return { status: 404, json: { error } };
    }
    const told = ids.map((endpoint_id) => ({ endpoint_id, ...prices[endpoint_id] }));
    return { json: { prices: told, has_more: false, next_cursor: null } };
  }

  // ── Callbacks ─────────────────────────────────────────────────────────────────────────────────
  function callback(id: string, at = new Date()) {
    const job = jobs.get(id);
    if (!job || job.callback_url === null) return null;
    const { status: code = 200, json } = endOf(job);
    const told =
      code === 200
        ? { status: 'OK', payload: json }
        : { status: 'ERROR', error: `Invalid status code: ${code}`, payload: json };
    const body = JSON.stringify({ request_id: id, gateway_request_id: randomUUID(), ...told });
    const timestamp = String(Math.floor(at.getTime() / 1000));
    const digest = createHash('sha256').update(body).digest('hex');
    const message = [id, falUserId, timestamp, digest].join('\n');
    const headers = {
      'content-type': 'application/json',
      'x-fal-webhook-request-id': id,
      'x-fal-webhook-user-id': falUserId,
      'x-fal-webhook-timestamp': timestamp,
      'x-fal-webhook-signature': sign(null, Buffer.from(message), pair.privateKey).toString('hex'),
    };
    return { headers, body };
  }

  return {
    url: served.url,
    key: falKey,
    secret: null,
    journal,
    calls: served.calls,
    files,
    play: switched.play,
    mend: switched.mend,
    hold: (value) => void (held = value),
    rotate: () => void (pair = generateKeyPairSync('ed25519')),
    pointTo: (origin) => void (pointed = origin),
    callback,
    close: served.close,
  };
}
