import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Shared by all fakes of upstreams: a journal of accepted jobs, and faults that a test switches on.
 */

/**
 * Faults of an upstream: when each shows, and how. Upstreams of class A and B get a lost start
 * again: there `submit-reset` shows once, and the repeat gets the job that was made.
 */
export const faults = {
  'submit-lost': 'the job is made, and the connection breaks before a byte of the answer',
  'submit-502-after': 'the job is made, and a gateway answers 502 with a page of HTML',
  'submit-garbage': 'the job is made, and the answer is 200 with half of a JSON text',
  'submit-reset': 'nothing is made: the connection breaks after the request was read',
  'submit-429': 'nothing is made: 429 with Retry-After in seconds',
  'submit-429-date': 'nothing is made: 429 with Retry-After as a date',
  'submit-429-bare': 'nothing is made: 429 without Retry-After',
  'submit-503': 'nothing is made: 503, it is loading',
  'submit-account': "nothing is made: the operator's account is out of credit",
  'submit-credential': 'nothing is made: the key is not taken',
  'submit-model': 'nothing is made: it has no such model',
  'submit-invalid': 'nothing is made: the input is refused, with its reasons',
  'poll-500': 'one look answers 500',
  'poll-502': 'one look answers 502 with a page of HTML',
  'poll-504': 'one look answers 504',
  'poll-429': 'one look answers 429',
  'poll-404-once': 'one look answers 404, the next ones are well',
  'poll-404-always': 'every look answers 404',
  'poll-reset': 'one look ends with a broken connection',
  'poll-garbage': 'one look answers half of a JSON text',
  'poll-unknown-word': 'one look tells a state that nobody knows',
  'poll-upper-case': 'states are written in capitals, or in another word of the same meaning',
  'poll-error-in-200': 'one look answers 200 with an error of the service inside',
  'poll-regress': 'a look tells that it runs, the next one that it is queued',
  'poll-at-once-done': 'the first look finds it done',
  'finish-failed': 'the job fails',
  'finish-refused': 'the job ends because its input is against the policy',
  'finish-empty': 'the job succeeds with no output',
  'finish-result-422': 'the job says it is done, and its result answers 422',
  'finish-gone': 'the job is done, and its result is not kept any more',
  'output-404': 'the address of the output answers 404',
  'output-redirect': 'the address of the output answers with a redirect',
  'output-lies': 'the output says image/png and is a page of HTML',
  'output-longer': 'the output says another length than it has',
  'output-cut': 'the first two downloads of the output break half way',
  'output-data': 'the output is a data: address',
  'output-several': 'there are two outputs where one is usual',
  'cancel-late': 'a cancel is taken, and the job completes all the same',
} as const;
export type Fault = keyof typeof faults;

/** A job that was accepted, and so must be paid for. */
export interface AcceptedJob {
  id: string;
  model: string;
  /** The model's input as received. */
  input: Record<string, unknown>;
  /** Our idempotency key, if the upstream supports one. */
  idempotency_key: string | null;
  callback_url: string | null;
  cancelled: boolean;
  /** Its outputs and cost, if the fake has a biller. */
  bill?: Bill;
}

/** One output of a job. */
export interface MadeOutput {
  kind: 'png' | 'mp4' | 'svg';
  width?: number;
  height?: number;
  seconds?: number;
}

/** The outputs of a job, and the vendor's price. */
export interface Bill {
  usd: number;
  made: MadeOutput[];
}

/** Prices a job by its vendor's rules. `files`: the uploaded files, by name. */
export type Biller = (
  job: Pick<AcceptedJob, 'model' | 'input'>,
  files: ReadonlyMap<string, Buffer>,
) => Bill;

/** A fake of an upstream. */
export interface FakeUpstream {
  /** The `url` for an upstream's definition. */
  url: string;
  /** The credential it accepts. */
  key: string;
  secret: string | null;
  /** Accepted jobs, in order. Two entries for one request are two bills. */
  journal: AcceptedJob[];
  /** Every received call. */
  calls: { method: string; path: string; headers: IncomingMessage['headers']; body: Buffer }[];
  /** Bytes of uploaded files, by the names it gave them. */
  files: Map<string, Buffer>;
  /** Switches a fault on, until `mend`. */
  play(fault: Fault): void;
  /** Switches the fault off. */
  mend(): void;
  /** While true, jobs make no progress. Default false. */
  hold(held: boolean): void;
  /**
   * The callback for a job in its present state, signed as the upstream signs; null if it sends
   * none.
   */
  callback(id: string, at?: Date): { headers: Record<string, string>; body: string } | null;
  close(): Promise<void>;
}

/** A received call. */
export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: Buffer;
  json<T = any>(): T;
}

export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent unchanged. */
  body?: Buffer | string;
  /** Sent one by one as they come, instead of the body; an error in them breaks the connection. */
  pieces?: AsyncIterable<Buffer | string>;
  /** Called if the client disconnects before the last of the pieces. */
  abandoned?: () => void;
  /** Breaks the connection after this many bytes of the body; 0: before the head. */
  cutAfter?: number;
  /** A false Content-Length. */
  contentLength?: number;
}

export interface ServedFake {
  url: string;
  calls: FakeUpstream['calls'];
  close(): Promise<void>;
}

/**
 * A handler in front of a server's answers: it lets a call through, delays it, or answers itself.
 */
export type Front = (call: Call, answer: () => Promise<Answer>) => Promise<Answer>;
const fronts = new Map<string, Front>();

/** From now on calls to the server of this address go through `front`; null removes it. */
export function setFront(url: string, front: Front | null): void {
  const { origin } = new URL(url);
  if (front === null) fronts.delete(origin);
  else fronts.set(origin, front);
}

/**
 * An address where no server listens. A closed port could belong to another test a moment later.
 */
export const nowhere = 'http://127.0.0.1:9';

/** Starts a server with these answers. If `answer` throws, the reply is a 500 with the message. */
export async function serve(answer: (call: Call) => Promise<Answer> | Answer): Promise<ServedFake> {
  const calls: FakeUpstream['calls'] = [];
  const server = createServer((req, res) => {
    void read(req)
      .then((call) => {
        calls.push({
          method: call.method,
          path: call.path,
          headers: call.headers,
          body: call.body,
        });
        const front = fronts.get(`http://127.0.0.1:${req.socket.localPort}`);
        return front === undefined ? answer(call) : front(call, async () => answer(call));
      })
      .catch((error: unknown) => ({ status: 500, body: `the fake failed: ${String(error)}` }))
      .then((reply) => send(res, reply));
  });
  // A caller that uses a kept connection just as it is closed gets ECONNRESET.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function read(req: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { pathname, searchParams } = new URL(req.url!, 'http://fake');
  return {
    method: req.method!,
    path: pathname,
    query: searchParams,
    headers: req.headers,
    body,
    json: () => JSON.parse(body.toString('utf8')),
  };
}

function send(res: ServerResponse, reply: Answer): void {
  if (reply.cutAfter === 0) return void res.destroy();
  if (reply.pieces) return void stream(res, reply, reply.pieces);
  const isJson = reply.json !== undefined;
  const body = isJson ? Buffer.from(JSON.stringify(reply.json)) : Buffer.from(reply.body ?? '');
  res.writeHead(reply.status ?? 200, {
    ...(isJson && { 'content-type': 'application/json' }),
    'content-length': reply.contentLength ?? body.length,
    ...reply.headers,
  });
  if (reply.cutAfter === undefined) return void res.end(body);
  res.write(body.subarray(0, reply.cutAfter), () => setImmediate(() => res.destroy()));
}

async function stream(
  res: ServerResponse,
  { status = 200, headers, abandoned }: Answer,
  pieces: NonNullable<Answer['pieces']>,
): Promise<void> {
  res.on('close', () => {
    if (!res.writableFinished) abandoned?.();
  });
  res.writeHead(status, headers);
  res.flushHeaders();
  try {
    for await (const piece of pieces) {
      if (res.destroyed) return;
      await new Promise<void>((resolve) => res.write(piece, () => resolve()));
    }
    res.end();
  } catch {
    res.destroy();
  }
}

/** Answers that mean the same at every upstream. */
export const htmlPage = '<html><body><h1>502 Bad Gateway</h1></body></html>';
export const halfJson: Answer = {
  body: '{"id": "ab',
  headers: { 'content-type': 'application/json' },
};
const dropped: Answer = { cutAfter: 0 };
const badGateway: Answer = { status: 502, body: htmlPage };

type Answers = Partial<Record<Fault, Answer>>;

/** The fault that is switched on, and how often it has shown. */
export function faultSwitch() {
  let playing: Fault | null = null;
  let shown = 0;
  /** True for the first `times` checks of this fault. */
  const shows = (fault: Fault, times = Infinity): boolean => {
    if (playing !== fault || shown >= times) return false;
    shown++;
    return true;
  };
  /** The answer of the fault that is switched on, if it is one of these. */
  const answerOf = (answers: Answers): Answer | null => {
    const answer = playing === null ? undefined : answers[playing];
    if (playing === null || answer === undefined) return null;
    const once = playing.startsWith('poll-') && playing !== 'poll-404-always';
    return shows(playing, once ? 1 : Infinity) ? answer : null;
  };
  return {
    play(fault: Fault) {
      playing = fault;
      shown = 0;
    },
    mend: () => void (playing = null),
    is: (fault: Fault) => playing === fault,
    shows,
    /** The refusal of a start that makes no job, or null. `own`: how this upstream refuses. */
    refusal: (own: Answers) => answerOf({ 'submit-reset': dropped, ...own }),
    /** The broken answer of a start that has made its job, or null. */
    lost: () =>
      answerOf({
        'submit-lost': dropped,
        'submit-502-after': badGateway,
        'submit-garbage': halfJson,
      }),
    /** The answer of a poll that fails, or null. `own`: the answers of this upstream. */
    hitch: (own: Answers) =>
      answerOf({
        'poll-502': badGateway,
        'poll-504': { status: 504, body: htmlPage },
        'poll-reset': dropped,
        'poll-garbage': halfJson,
        ...own,
      }),
  };
}

/** The three refusals for a rate limit. `seconds`: from now to the date of the second one. */
export function limits(seconds: number, limited: (headers: Record<string, string>) => Answer) {
  const date = new Date(Date.now() + seconds * 1000).toUTCString();
  return {
    'submit-429': limited({ 'retry-after': '7' }),
    'submit-429-date': limited({ 'retry-after': date }),
    'submit-429-bare': limited({}),
  };
}

/** One look or all looks are answered with this 404. */
export function missing(answer: Answer) {
  return { 'poll-404-once': answer, 'poll-404-always': answer };
}

/** A video, 64 × 48, one second; an image, 8 × 8; a second of audio. */
export const media = {
  png: readFileSync(join(import.meta.dirname, 'media/picture.png')),
  mp4: readFileSync(join(import.meta.dirname, 'media/film.mp4')),
  wav: readFileSync(join(import.meta.dirname, 'media/sound.wav')),
};

/** The answer of an output's address, with the faults of outputs. `kind`: the expected type. */
export function outputAnswer(
  kind: keyof typeof media,
  switched: ReturnType<typeof faultSwitch>,
): Answer {
  const types = { png: 'image/png', mp4: 'video/mp4', wav: 'audio/wav' };
  const headers = { 'content-type': types[kind] };
  const body = media[kind];
  if (switched.shows('output-404')) return { status: 404, json: { detail: 'not found' } };
  if (switched.shows('output-redirect'))
    return { status: 302, headers: { location: 'http://127.0.0.1:9/elsewhere' } };
  if (switched.shows('output-lies')) return { headers, body: htmlPage };
  if (switched.shows('output-longer'))
    return { headers, body, contentLength: body.length + 10, cutAfter: body.length };
  if (switched.shows('output-cut', 2))
    return { headers, body, contentLength: body.length, cutAfter: body.length >> 1 };
  return { headers, body };
}
