import { request, Agent, createServer } from 'node:http';
import { randomBytes } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { crc32, deflateSync } from 'node:zlib';
import { setTimeout as pause } from 'node:timers/promises';
import { headers } from './calls.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

/** The noisy account of the bench `shares`, in its own thread, with the upstream of its chats. */
export interface Work {
  keys: string[];
}

export interface WorkerReport {
  /** The address of the upstream, told first. */
  upstream?: string;
  /** Replies by status; `left`: calls that the caller gave up. */
  statuses?: Record<string, number>;
}

const { keys } = workerData as Work;
const statuses: Record<string, number> = {};
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
/** Longest time after which a caller leaves. */
const leaveMs = 300;
const pictureBytes = 5 * 1024 * 1024;
let port = 0;
let working = false;
let calls = 0;

interface Call {
  method: string;
  path: string;
  body?: string | Buffer;
  type?: string;
}

/** Sends a call and reads its whole reply; `leave`: gives it up at some moment. */
function send({ method, path, body, type }: Call, leave = false): Promise<[number, string]> {
  return new Promise((resolve) => {
    const key = keys[calls++ % keys.length]!;
    const call = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        agent,
        headers: {
          ...headers(key),
          ...(type && { 'content-type': type }),
          ...(body && { 'content-length': Buffer.byteLength(body) }),
        },
      },
      (reply) => {
        let text = '';
        reply.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        reply.on('close', () => resolve([reply.statusCode!, text]));
      },
    );
    call.on('error', () => resolve([0, '']));
    if (leave) setTimeout(() => call.destroy(), Math.random() * leaveMs);
    call.end(body);
  });
}

/** Makes these calls again and again, as fast as they are answered. */
async function loop(make: () => Call, leave = false): Promise<void> {
  for (;;) {
    if (!working) {
      await pause(50);
      continue;
    }
    const [status] = await send(make(), leave);
    const name = leave ? 'left' : String(status);
    statuses[name] = (statuses[name] ?? 0) + 1;
    if (status === 429 || status === 0) await pause(100);
  }
}

const get = (path: string) => (): Call => ({ method: 'GET', path });
const post = (path: string, body: object) => {
  const text = JSON.stringify(body);
  return (): Call => ({ method: 'POST', path, body: text });
};
const user = (content: unknown) => ({
  model: 'bench/chat',
  max_tokens: 10,
  messages: [{ role: 'user', content }],
});
const parts = (length: number) => Array.from({ length }, () => ({ type: 'text', text: 'a' }));
const countTokens = '/v1/messages/count_tokens';

/** How many callers make each kind of call at the same time. */
async function begin(): Promise<void> {
  const pictures = await Promise.all([1, 2, 3, 4].map(upload));
  const seen = pictures.map((url) => ({ type: 'image_url', image_url: { url } }));
  const kinds: [count: number, make: () => Call][] = [
    [8, get('/v1/requests?metadata.tenant=nobody')],
    [4, get('/v1/requests?metadata.customer=c77')],
    [4, get('/v1/requests?metadata.env=prod&status=FAILED')],
    [8, get('/v1/requests?model_id=bench/hardly/used')],
    [4, get('/v1/usage?by=day,model,key,metadata.customer')],
    [4, post(countTokens, user(parts(30_000)))],
    [4, post(countTokens, user(parts(10_000)))],
    [4, post(countTokens, user('Say "yes"!\n'.repeat(250_000)))],
    [4, post('/v1/chat/completions', user('word '.repeat(150_000)))],
    [4, post('/v1/chat/completions', user([{ type: 'text', text: 'What?' }, ...seen]))],
  ];
  for (const [count, make] of kinds) {
    for (let n = 0; n < count; n++) void loop(make);
    for (let n = 0; n < count / 4; n++) void loop(make, true);
  }
}

/** Stores a picture of noise; returns its id. */
async function upload(): Promise<string> {
  const side = Math.floor(Math.sqrt(pictureBytes / 3)) - 1;
  const rows = Array.from({ length: side }, () => [Buffer.from([0]), randomBytes(side * 3)]).flat();
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const body = Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.concat(rows), { level: 0 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  const [status, text] = await send({ method: 'POST', path: '/v1/files', body, type: 'image/png' });
  if (status !== 201) throw new Error(`an upload ended with ${status}: ${text}`);
  return String(fieldOf(JSON.parse(text), 'file_id'));
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

const answer = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'chat',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'A word.' }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 },
});

/** Reads each call to its end and answers it. */
const upstream = createServer((req, res) => {
  req.resume().on('end', () => res.setHeader('content-type', 'application/json').end(answer));
});
upstream.listen(0, '127.0.0.1', () => {
  const at = Number(fieldOf(upstream.address(), 'port'));
  parentPort!.postMessage({ upstream: `http://127.0.0.1:${at}/v1` } satisfies WorkerReport);
});

parentPort!.on('message', (message: { port?: number; working?: boolean }) => {
  if (message.port !== undefined) {
    port = message.port;
    begin().then(
      () => parentPort!.postMessage({ statuses: {} } satisfies WorkerReport),
      (error: unknown) => {
        throw error;
      },
    );
  }
  working = message.working ?? working;
});
setInterval(() => working && parentPort!.postMessage({ statuses } satisfies WorkerReport), 200);
