import { createHmac, randomUUID } from 'node:crypto';
import {
  faultSwitch,
  limits,
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

/**
 * A fake Kie.ai: its errors have HTTP 200 and a code inside, and its results are JSON in a string.
 * Its upload host is this server too.
 */

const key = '0123456789abcdef0123456789abcdef';
const secret = 'hmac-key-of-the-settings-page';

const creditUsd = 0.005;

interface Job extends AcceptedJob {
  looks: number;
  created_ms: number;
}

const films = /video|seedance|kling/;
const ok = (data: unknown): Answer => ({ json: { code: 200, msg: 'success', data } });
const fault = (code: number, msg: string, headers: Record<string, string> = {}): Answer => ({
  json: { code, msg, data: null },
  headers,
});

/** With a biller it makes that biller's outputs, and reports costs in credits. */
export async function fakeKie(biller?: Biller): Promise<FakeUpstream> {
  const journal: Job[] = [];
  const files = new Map<string, Buffer>();
  const switched = faultSwitch();
  let held = false;

  const server = await serve((call) => {
    const made = madeAt(call.path, journal);
    if (made) return { body: madeFile(made) };
    if (call.path.startsWith('/outputs/'))
      return outputAnswer(call.path.endsWith('.mp4') ? 'mp4' : 'png', switched);
    if (call.path.startsWith('/temp/')) return { body: files.get(call.path.slice(6)) ?? '' };
    if (call.headers.authorization !== `Bearer ${key}`)
      return fault(401, `You do not have access permissions: ${call.headers.authorization}`);
    const route = `${call.method} ${call.path}`;
    if (route === 'POST /api/v1/jobs/createTask') return create(call);
    if (route === 'GET /api/v1/jobs/recordInfo') return look(call);
    if (route === 'GET /api/v1/chat/credit') return ok(100);
    if (route === 'POST /api/file-stream-upload') return upload(call);
    return { status: 404, json: { code: 404, msg: 'Not Found', path: call.path } };
  });

  function create(call: Call): Answer {
    const refused = refusal();
    if (refused !== null) return refused;
    const { model, input, callBackUrl } = call.json();
    if (typeof model !== 'string') return fault(422, 'The model name is required');
    if (!biller && typeof input?.prompt !== 'string') return fault(422, 'prompt is required');
    const job: Job = {
      id: randomUUID().replaceAll('-', ''),
      model,
      input,
      idempotency_key: null,
      callback_url: callBackUrl ?? null,
      cancelled: false,
      looks: 0,
      created_ms: Date.now(),
    };
    if (biller) job.bill = biller(job, files);
    journal.push(job);
    return switched.lost() ?? ok({ taskId: job.id, recordId: job.id });
  }

  function refusal(): Answer | null {
    const slow = 'Your call frequency is too high. Please try again later.';
    return switched.refusal({
      ...limits(30, (headers) => fault(429, slow, headers)),
      'submit-503': fault(455, 'The service is under maintenance'),
      'submit-account': fault(402, 'Credits insufficient, top up first'),
      'submit-credential': fault(401, `Invalid key ${key}`),
      'submit-model': fault(404, 'The model was not found'),
      'submit-invalid': fault(422, 'prompt is longer than 5000'),
    });
  }

  function look(call: Call): Answer {
    const job = journal.find(({ id }) => id === call.query.get('taskId'));
    const unknown = fault(404, 'The task was not found');
    if (!job) return unknown;
    const hitch = switched.hitch({
      ...missing(unknown),
      'poll-500': { status: 500, json: { code: 500, msg: 'Error' } },
      'poll-429': fault(429, 'Too many calls'),
      'poll-error-in-200': fault(500, 'Server exception'),
    });
    return hitch ?? ok(record(job, stateOf(job)));
  }

  /** The states of a job: waiting, generating, the end. */
  function stateOf(job: Job): string {
    const looks = job.looks++;
    if (switched.shows('poll-unknown-word', 1)) return 'reviewing';
    if (held) return 'generating';
    if (switched.is('poll-regress') && looks < 2) return looks === 0 ? 'generating' : 'queuing';
    if (switched.is('poll-at-once-done') || looks >= 2) return ending();
    const state = looks === 0 ? 'waiting' : 'generating';
    return switched.is('poll-upper-case') ? state.toUpperCase() : state;
  }

  function ending(): string {
    if (switched.is('finish-failed') || switched.is('finish-refused')) return 'fail';
    return switched.is('poll-upper-case') ? 'SUCCEEDED' : 'success';
  }

  function record(job: Job, state: string) {
    const { id, model, input, created_ms } = job;
    const over = /^(?:succe|fail)/i.test(state);
    const failed = state === 'fail';
    const refused = failed && switched.is('finish-refused');
    return {
      taskId: id,
      model,
      state,
      param: JSON.stringify({ model, input }),
      resultJson: over && !failed ? JSON.stringify({ resultUrls: outputs(job) }) : '',
      failCode: failed ? (refused ? '422' : '500') : null,
      failMsg: failed
        ? refused
          ? 'Your prompt was flagged as violating the content policies.'
          : 'Internal Error, please try again later.'
        : null,
      costTime: over ? 8000 : null,
      creditsConsumed: over && !failed ? (job.bill ? job.bill.usd / creditUsd : 4) : 0,
      createTime: created_ms,
      completeTime: over ? created_ms + 8000 : null,
      updateTime: created_ms,
    };
  }

  function outputs({ id, model, bill }: Job): string[] {
    if (bill) return bill.made.map(({ kind }, i) => `${server.url}/outputs/${id}-${i}.${kind}`);
    if (switched.is('finish-empty')) return [];
    const ending = films.test(model) ? 'mp4' : 'png';
    const count = switched.is('output-several') ? 2 : 1;
    return Array.from({ length: count }, (_, i) => `${server.url}/outputs/${id}-${i}.${ending}`);
  }

  async function upload(call: Call): Promise<Answer> {
    const form = await formOf(call);
    const file = form.get('file');
    if (!(file instanceof File) || form.get('uploadPath') === null)
      return { status: 400, json: { success: false, code: 400, msg: 'uploadPath is required' } };
    files.set(file.name, Buffer.from(await file.arrayBuffer()));
    const downloadUrl = `${server.url}/temp/${file.name}`;
    return { json: { success: true, code: 200, msg: 'uploaded', data: { downloadUrl } } };
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
      const data = { ...record(job, held ? 'generating' : ending()), task_id: id };
      return signedCallback({ code: 200, msg: 'success', data }, id, at);
    },
    close: server.close,
  };
}

/**
 * A signature over the task's id and the time, not the body, as Kie.ai's settings page describes.
 */
function signedCallback(content: unknown, id: string, at: Date) {
  const time = String(Math.floor(at.getTime() / 1000));
  const signature = createHmac('sha256', secret).update(`${id}.${time}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'x-webhook-timestamp': time,
    'x-webhook-signature': signature,
  };
  return { headers, body: JSON.stringify(content) };
}

async function formOf({ headers, body }: Call): Promise<FormData> {
  const type = headers['content-type'] ?? '';
  return new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
}
