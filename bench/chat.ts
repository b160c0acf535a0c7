import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { compare, headers, type Contender } from './calls.ts';
import { httpRequest } from './load.ts';
import type { Question } from './run.ts';
import { end, rssMb, type Bench, type Process } from './service.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

const peers = join(import.meta.dirname, 'peers');
const peerStart = join(peers, 'node_modules/@portkey-ai/gateway/build/start-server.js');
const body = JSON.stringify({
  model: 'bench/chat',
  max_tokens: 200,
  messages: [
    { role: 'system', content: 'You are brief.' },
    { role: 'user', content: 'What is a lighthouse for?' },
  ],
});

const question: Question = {
  asks: 'chat without streaming, with a durable reservation and charge: how does it compare to @portkey-ai/gateway, which keeps no books, in front of the same upstream?',
  async measure(bench, effort) {
    const upstream = await localUpstream();
    const peer = toPeer(upstream.url);
    const own = await contender('farebox chat', bench, upstream.url);
    const { beside } = effort;
    const contenders = beside
      ? [await contender('beside (reference)', beside, upstream.url), own, peer]
      : [{ ...peer, what: `${peer.what} (reference)` }, own];
    try {
      return await compare(bench, contenders, effort);
    } finally {
      await upstream.close();
    }
  },
};
export default question;

async function contender(what: string, bench: Bench, url: string): Promise<Contender> {
  const request = httpRequest('POST', '/v1/chat/completions', headers(await bench.key()), body);
  return {
    what,
    start: () => bench.start({ role: 'service', env: { BENCH_UPSTREAM: url } }),
    request: () => request,
    databasePid: bench.databasePid,
  };
}

function toPeer(url: string): Contender {
  const request = httpRequest(
    'POST',
    '/v1/chat/completions',
    {
      'content-type': 'application/json',
      authorization: 'Bearer x',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': url,
    },
    body,
  );
  return { what: '@portkey-ai/gateway 1.15.2', start: startPeer, request: () => request };
}

/** Starts the chat upstream in its own thread, so that the load generator does not slow it down. */
export async function localUpstream(): Promise<{ url: string; close(): Promise<unknown> }> {
  const worker = new Worker(new URL('./chat-upstream.ts', import.meta.url));
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  return { url: `http://127.0.0.1:${port}/v1`, close: () => worker.terminate() };
}

async function startPeer(): Promise<Process> {
  if (!existsSync(peerStart)) {
    console.log('installing the peer …');
    execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: peers, stdio: 'ignore' });
  }
  const port = await freePort();
  const child = spawn(process.execPath, [peerStart, `--port=${port}`, '--headless'], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, NODE_ENV: 'production' },
  });
  for (let tries = 0; tries < 100; tries++) {
    if (
      await fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      )
    )
      return {
        port,
        pid: child.pid!,
        rssMb: () => rssMb(child.pid!),
        stop: () => end(child),
      };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill();
  throw new Error('the peer did not start');
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const port = Number(fieldOf(server.address(), 'port'));
      server.close(() => resolve(port));
    });
  });
}
