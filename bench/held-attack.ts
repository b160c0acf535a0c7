import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { headers } from './calls.ts';
import { httpRequest } from './load.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

/** The attacker of the bench `held`, in its own thread and from its own address. */
export interface Attack {
  port: number;
  keys: string[];
  wanted: HeldLoad;
}

export interface HeldLoad {
  bodies: number;
  streams: number;
  chats: number;
}

const localAddress = '127.0.0.2';
/**
 * Wait after a call was refused or ended, so that the bench measures open calls and not a flood of
 * connections.
 */
const againMs = 5_000;

const { port, keys, wanted } = workerData as Attack;
const held: HeldLoad = { bodies: 0, streams: 0, chats: 0 };
let calls = 0;
const key = () => keys[calls++ % keys.length]!;

const job = await submit();
for (let i = 0; i < wanted.chats; i++) later(() => keep('chats', chat));
for (let i = 0; i < wanted.streams; i++) later(() => keep('streams', stream));
for (let i = 0; i < wanted.bodies; i++) later(() => keep('bodies', slowBody));
setInterval(() => parentPort!.postMessage(held), 200);

/** Spreads the calls over a few seconds, so that the bench does not measure the listen queue. */
function later(begin: () => void): void {
  setTimeout(begin, Math.random() * againMs);
}

/** Opens a call again and again; it counts as held while it is open and not refused. */
function keep(what: keyof HeldLoad, bytes: () => Buffer): void {
  const socket = net.connect({ port, host: '127.0.0.1', localAddress });
  let holds = false;
  let isAnswered = false;
  const hold = (now: boolean) => {
    if (holds !== now) held[what] += now ? 1 : -1;
    holds = now;
  };
  socket.on('connect', () => {
    hold(true);
    socket.write(bytes());
  });
  socket.on('data', (chunk) => {
    // The first bytes contain the status; events follow.
    const isFirst = !isAnswered;
    isAnswered = true;
    if (isFirst && !chunk.toString('latin1').startsWith('HTTP/1.1 200')) socket.destroy();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    hold(false);
    setTimeout(() => keep(what, bytes), againMs);
  });
}

function slowBody(): Buffer {
  const head = httpRequest('POST', '/v1/estimate', { ...headers(key()), 'content-length': '100' });
  return Buffer.concat([head, Buffer.from('{')]);
}

function stream(): Buffer {
  return httpRequest('GET', `/v1/requests/${job}/status/stream`, headers(key()));
}

function chat(): Buffer {
  const body = { model: 'bench/chat', max_tokens: 20, messages: [{ role: 'user', content: 'x' }] };
  return httpRequest('POST', '/v1/chat/completions', headers(key()), JSON.stringify(body));
}

/** Submits a job that is never started, to stream its status. */
async function submit(): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/queue/bench/hanging`, {
    method: 'POST',
    headers: headers(key()),
    body: '{}',
  });
  return String(fieldOf(await reply.json(), 'request_id'));
}
