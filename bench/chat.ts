import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { compare, connections, headers, measure, warmupSeconds, type Measured } from './calls.ts';
import { cpuSeconds } from './cpu.ts';
import { httpRequest, load } from './load.ts';
import type { Question } from './run.ts';
import { rssMb } from './service.ts';

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
  async measure(bench, { seconds, rounds }) {
    const [key] = (await bench.keys(1)) as [string];
    const upstream = await localUpstream();
    const env = { BENCH_UPSTREAM: upstream.url };
    const direct = httpRequest('POST', '/v1/chat/completions', headers(key), body);
    try {
      return await compare(
        [
          {
            what: '@portkey-ai/gateway 1.15.2 (reference)',
            run: () => measurePeer(upstream.url, seconds),
          },
          {
            what: 'farebox chat',
            run: () => measure(bench, { role: 'service', env }, seconds, () => direct),
          },
        ],
        rounds,
      );
    } finally {
      await upstream.close();
    }
  },
};
export default question;

async function measurePeer(upstream: string, seconds: number): Promise<Measured> {
  const { port, child } = await startPeer();
  const peerHeaders = {
    'content-type': 'application/json',
    authorization: 'Bearer x',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': upstream,
  };
  const request = httpRequest('POST', '/v1/chat/completions', peerHeaders, body);
  try {
    const before = cpuSeconds(child.pid!);
    const result = await load({
      port,
      connections,
      seconds,
      warmupSeconds,
      request: () => request,
    });
    const share = seconds / (seconds + warmupSeconds) / result.requests;
    const service_us = (cpuSeconds(child.pid!) - before) * share * 1e6;
    return { ...result, rss_mb: rssMb(child.pid!), service_us, postgres_us: 0 };
  } finally {
    child.kill();
  }
}

/** In a thread of its own, so that it is not slowed down by the load. */
async function localUpstream(): Promise<{ url: string; close(): Promise<unknown> }> {
  const worker = new Worker(new URL('./chat-upstream.ts', import.meta.url));
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  return { url: `http://127.0.0.1:${port}/v1`, close: () => worker.terminate() };
}

async function startPeer(): Promise<{ port: number; child: ChildProcess }> {
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
      return { port, child };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill();
  throw new Error('the peer did not start');
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
