import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { headers, line, measure, type Measured } from './calls.ts';
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
  async measure(bench, seconds) {
    const [key] = (await bench.keys(1)) as [string];
    const upstream = await localUpstream();
    const direct = httpRequest('POST', '/v1/chat/completions', headers(key), body);
    const peer = await startPeer();
    const peerRequest = httpRequest(
      'POST',
      '/v1/chat/completions',
      {
        'content-type': 'application/json',
        authorization: 'Bearer x',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${upstream.url}`,
      },
      body,
    );
    let portkey: Measured;
    try {
      const cpu = cpuSeconds(peer.child.pid!);
      const result = await load({
        port: peer.port,
        connections: 64,
        seconds,
        warmupSeconds: 3,
        request: () => peerRequest,
      });
      const share = seconds / (seconds + 3) / result.requests;
      portkey = {
        ...result,
        rss_mb: rssMb(peer.child.pid!),
        service_us: (cpuSeconds(peer.child.pid!) - cpu) * share * 1e6,
        postgres_us: 0,
      };
    } finally {
      peer.child.kill();
    }
    const ours = await measure(
      bench,
      { role: 'service', env: { BENCH_UPSTREAM: upstream.url } },
      seconds,
      () => direct,
    );
    await upstream.close();
    return [
      line('@portkey-ai/gateway 1.15.2 (reference)', portkey, portkey.rate),
      line('farebox chat', ours, portkey.rate),
    ];
  },
};
export default question;

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
