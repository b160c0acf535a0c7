import assert from 'node:assert/strict';
import { createReadStream, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openBrowser, withoutBrowser } from '../../web/test/browser.ts';
import { tinyPng } from '../../server/test/kit/fake.ts';
import { startService, type Service } from '../../server/test/kit/service.ts';
import { delta, openTap } from '../../server/test/kit/tap.ts';
import { installed, names, program, run, type Project } from './package-kit.ts';

/** The published package in other runtimes than Node: Deno, Bun and a page in a browser. */

const versions = { bun: '1.4.5', deno: '2.9.6' };
const fetchMs = 60_000;

let service: Service;
let project: Project;
let key: string;
/** Why the other runtimes are missing; null if they are there. */
let without: string | null;
before(async () => {
  service = await startService({ running: true });
  service.fake.behave = {
    chat: (wanted) => {
      const tap = openTap(wanted);
      tap.push(delta('Hello', 'stop'));
      tap.end();
      return tap.outcome;
    },
  };
  key = (await service.account()).key;
  project = await installed();
  project.write({ 'main.mjs': program(`import { ${names} } from '@farebox/client';`) });
  writeFileSync(path.join(project.dir, 'cat.png'), tinyPng);
  without = await fetchRuntimes();
});
after(async () => {
  project?.stop();
  await service.audit();
  await service.stop();
});

/** Fetched here, because they are large, seldom needed and have install scripts. */
async function fetchRuntimes(): Promise<string | null> {
  const packages = Object.entries(versions).map((pair) => pair.join('@'));
  const flags = ['--no-save', '--no-audit', '--no-fund', '--prefer-offline'];
  const limit = AbortSignal.timeout(fetchMs);
  const fetched = await Promise.race([
    run('npm', ['install', ...flags, ...packages], project.dir),
    new Promise<null>((resolve) => limit.addEventListener('abort', () => resolve(null))),
  ]);
  return fetched?.code === 0 ? null : 'Deno and Bun cannot be fetched here';
}

const expected = {
  same: true,
  cost: '$0.01',
  size: tinyPng.length,
  streamed: tinyPng.length,
  text: 'Hello',
  code: 'unknown_model',
};

describe('the same program', () => {
  for (const [name, args] of [
    ['bun', ['main.mjs']],
    ['deno', ['run', '--allow-net', '--allow-read', '--allow-write', '--allow-env', 'main.mjs']],
  ] as const) {
    test(`works on ${name}`, async (t) => {
      if (without) return t.skip(without);
      const runtime = path.join(project.dir, 'node_modules', '.bin', name);
      const env = { FAREBOX_API_KEY: key, FAREBOX_BASE_URL: `${service.base}/v1`, NO_COLOR: '1' };
      const { code, stdout, stderr } = await run(runtime, [...args], project.dir, env);
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), expected);
    });
  }

  test('needs no permission for the environment on Deno if it gets all options', async (t) => {
    if (without) return t.skip(without);
    const options = JSON.stringify({ apiKey: key, baseUrl: `${service.base}/v1` });
    project.write({
      'told.mjs': `import { Farebox } from '@farebox/client';
        console.log((await new Farebox(${options}).models.list()).length);`,
    });
    const runtime = path.join(project.dir, 'node_modules', '.bin', 'deno');
    const args = ['run', '--no-prompt', '--allow-net', 'told.mjs'];
    const { stdout, stderr } = await run(runtime, args, project.dir);
    assert.equal(Number(stdout), 4, stderr);
  });
});

describe('a page in a browser', () => {
  test('makes, watches, uploads, fetches and talks', async (t) => {
    const reason = withoutBrowser();
    if (reason) return t.skip(reason);
    const site = await servePage();
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(site.base);
      const done = await page.evaluate(inPage, { apiKey: key, bytes: [...tinyPng] });
      assert.deepEqual(done, { ...expected, path: 'bad_argument', sent: tinyPng.length });
    } finally {
      await site.stop();
    }
  });
});

/** Runs in the page, so it cannot use variables of this file. */
async function inPage({ apiKey, bytes }: { apiKey: string; bytes: number[] }) {
  const name = '/client/index.js';
  const { Farebox, FareboxError, file, formatUsd } = await import(name);
  const farebox = new Farebox({ apiKey, baseUrl: `${(globalThis as any).location.origin}/v1` });
  const picture = new File([new Uint8Array(bytes)], 'cat.png');
  const ids: string[] = [];
  let sent = 0;
  const { output, card } = await farebox.run(
    'fake/image',
    { prompt: 'a cat', image_url: picture },
    {
      onSubmit: (job: { requestId: string }) => ids.push(job.requestId),
      onUpload: (progress: { sent: number }) => (sent = progress.sent),
    },
  );
  const saved: Blob = await farebox.download(output.images[0].url);
  const streamed = await farebox.upload(saved.stream());
  let text = '';
  const messages = [{ role: 'user', content: 'hi' }];
  const stream = await farebox.chat.create({ model: 'fake/chat', messages, stream: true });
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  const codeOf = (error: unknown) => error instanceof FareboxError && (error as any).code;
  return {
    same: ids[0] === card.request_id,
    cost: formatUsd(card.charged_usd_micro),
    size: saved.size,
    streamed: streamed.size,
    text,
    code: await farebox.submit('no/such', {}).catch(codeOf),
    path: await farebox.upload(file('./cat.png')).catch(codeOf),
    sent,
  };
}

/** A caller's site: a page, the library, and a proxy to the service under the same origin. */
async function servePage(): Promise<{ base: string; stop: () => Promise<unknown> }> {
  const dist = path.join(project.dir, 'node_modules', '@farebox', 'client', 'dist');
  const server = createServer((req, reply) => {
    const url = req.url!;
    if (url.startsWith('/v1/')) {
      const { method, headers } = req;
      const onward = request(service.base + url, { method, headers }, (answer) => {
        reply.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(reply);
      });
      onward.on('error', () => reply.destroy());
      return void req.pipe(onward);
    }
    const isCode = url.startsWith('/client/');
    reply.setHeader('content-type', isCode ? 'text/javascript' : 'text/html');
    if (!isCode) return void reply.end('<!doctype html><link rel="icon" href="data:,">');
    createReadStream(path.join(dist, path.basename(url))).pipe(reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    base,
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
