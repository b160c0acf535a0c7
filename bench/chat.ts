import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { compare, headers } from './calls.ts';
import { httpRequest } from './load.ts';
import type { Question } from './run.ts';
import { end, rssMb, type Process } from './service.ts';
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
    const key = await bench.key();
    const upstream = await localUpstream();
    const env = { BENCH_UPSTREAM: upstream.url };
    const direct = httpRequest('POST', '/v1/chat/completions', headers(key), body);
    const peerHeaders = {
      'content-type': 'application/json',
      authorization: 'Bearer x',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': upstream.url,
    };
    const toPeer = httpRequest('POST', '/v1/chat/completions', peerHeaders, body);
    try {
      return await compare(
        bench,
        [
          {
            what: '@portkey-ai/gateway 1.15.2 (reference)',
            start: startPeer,
            request: () => toPeer,
          },
          {
            what: 'farebox chat',
            start: () => bench.start({ role: 'service', env }),
            request: () => direct,
          },
        ],
        effort,
      );
    } finally {
      await upstream.close();
    }
  },
};
export default question;

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
