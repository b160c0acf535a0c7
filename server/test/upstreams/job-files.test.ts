import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { createAnthropic } from '../../src/upstreams/anthropic/anthropic.ts';
import { createComfyui } from '../../src/upstreams/comfyui/comfyui.ts';
import { createHttpJob } from '../../src/upstreams/http-job/http-job.ts';
import { createOpenai } from '../../src/upstreams/openai/openai.ts';
import { createReplicate } from '../../src/upstreams/replicate/replicate.ts';
import type { InputFile, StartJob, Upstream } from '../../src/upstreams/upstream.ts';
import { until } from '../kit/until.ts';
import { jobOf as jobFor } from './job-kit.ts';
import { callOf } from './openai-kit.ts';

/** Stored files of jobs, which are read while they are sent, by every adapter that sends files. */

const chunk = Buffer.alloc(64 * 1024 - 1, 'picture');
/** Larger than the buffers of a connection. */
const large = 7 * 1024 * 1024;
const small = 200_000;

let address = '';
let answer: (req: IncomingMessage, res: ServerResponse) => void;
const server = createServer((req, res) => answer(req, res));
const fetch = createFetch({ guard: false });
const tools = {
  fetch,
  guarded: fetch,
  download: () => Promise.reject(new Error('nothing is downloaded here')),
  now: () => Date.now(),
};
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  await fetch.close();
  server.closeAllConnections();
  server.close();
});

/** A file that counts how much of it was read. `stop`: it breaks off after these bytes. */
function fileOf(size: number, stop = Infinity) {
  const seen = { bytes: 0, open: 0 };
  async function* chunks() {
    seen.open += 1;
    try {
      for (let left = size; left > 0; left -= chunk.length) {
        if (size - left >= stop) throw new Error('the disk is broken');
        seen.bytes += Math.min(left, chunk.length);
        yield chunk.subarray(0, left);
      }
    } finally {
      seen.open -= 1;
    }
  }
  const file: InputFile = { content_type: 'image/png', size, open: async () => chunks() };
  return { file, seen };
}
function contentOf(size: number): Buffer {
  return Buffer.concat(Array(Math.ceil(size / chunk.length)).fill(chunk)).subarray(0, size);
}

const fields = ['prompt', 'image_url', 'image_urls', 'mask_url'];
const jobOf = (more: Partial<StartJob>): StartJob =>
  jobFor({ model: 'm', task: 'edit', input: {}, fields, ...more });

interface Way {
  name: string;
  make(): Upstream;
  job: Partial<StartJob>;
  size: number;
  /** How the file stands in the body. */
  as: 'base64' | 'bytes';
}
const settings = (options: Record<string, unknown> = {}) => ({
  name: 'u',
  url: address,
  key: 'k',
  secret: null,
  concurrency: 1,
  options,
});
const httpJob = (files: object) =>
  createHttpJob(
    settings({
      auth: 'bearer',
      submit: { method: 'POST', path: '/jobs', body: { '...': '$input' } },
      id: 'id',
      poll: { path: '/jobs/{id}' },
      state: 'status',
      states: { done: ['done'] },
      outputs: ['urls'],
      files,
    }),
    tools,
  );
const graph = { '1': { class_type: 'LoadImage', inputs: { image: 'a.png' } } };
const workflows = { m: { prompt: graph, files: { image_url: '1.image' }, outputs: 'all' } };
const ways: Way[] = [
  {
    name: 'http-job, inline',
    make: () => httpJob({ data_uri_max_bytes: 8e6, link: false }),
    job: { input: { image_url: 'a' } },
    size: large,
    as: 'base64',
  },
  {
    name: 'http-job, upload',
    make: () => httpJob({ upload: { path: '/up', field: 'file', fields: {}, reply: 'url' } }),
    job: { input: { image_url: 'a' } },
    size: large,
    as: 'bytes',
  },
  {
    name: 'replicate, inline',
    make: () => createReplicate(settings(), tools),
    job: { model: 'o/n', input: { image_urls: Array(60).fill('a') } },
    size: small,
    as: 'base64',
  },
  {
    name: 'replicate, upload',
    make: () => createReplicate(settings(), tools),
    job: { model: 'o/n', input: { image_url: 'a' } },
    size: large,
    as: 'bytes',
  },
  {
    name: 'openai, form of images',
    make: () => createOpenai(settings(), tools),
    job: { input: { prompt: 'x', image_url: 'a', mask_url: 'a' } },
    size: large,
    as: 'bytes',
  },
  {
    name: 'openai, form of a video',
    make: () => createOpenai(settings({ videos: 'multipart' }), tools),
    job: { task: 'image-to-video', input: { prompt: 'x', image_url: 'a' } },
    size: large,
    as: 'bytes',
  },
  {
    name: 'openai, JSON of a video',
    make: () => createOpenai(settings({ videos: 'openrouter' }), tools),
    job: { task: 'image-to-video', input: { prompt: 'x', image_url: 'a' } },
    size: large,
    as: 'base64',
  },
  {
    name: 'comfyui',
    make: () => createComfyui({ ...settings({ workflows }), key: null }, tools),
    job: { input: { image_url: 'a' } },
    size: large,
    as: 'bytes',
  },
];

for (const { name, make, job, size, as } of ways)
  describe(name, () => {
    const start = (file: InputFile) => make().start(jobOf({ ...job, files: { a: file } }));

    test('the file arrives as it was stored, and again with the next start', async () => {
      const bodies: Buffer[] = [];
      answer = async (req, res) => {
        const body: Buffer[] = [];
        for await (const piece of req) body.push(piece);
        bodies.push(Buffer.concat(body));
        assert.equal(Number(req.headers['content-length']), bodies.at(-1)!.length);
        res.writeHead(429).end('{}');
      };
      const { file, seen } = fileOf(size);
      const content = contentOf(size);
      const told = as === 'bytes' ? content : Buffer.from(content.toString('base64'));
      for (let i = 0; i < 2; i++) {
        assert.equal((await start(file)).outcome, 'not_accepted');
        assert.ok(bodies.at(-1)!.includes(told));
      }
      assert.equal(bodies.length, 2);
      assert.equal(seen.open, 0);
    });

    test('an upstream that takes no bytes gets no more than fits into its connection', async () => {
      const { file, seen } = fileOf(size);
      const total =
        Object.values(job.input!)
          .flat()
          .filter((value) => value === 'a').length * size;
      answer = (_req, res) => void res.writeHead(429).end('{}');
      assert.equal((await start(file)).outcome, 'not_accepted');
      assert.ok(seen.bytes < total, `${seen.bytes} of ${total}`);
      await until('the file is closed', () => seen.open === 0);
    });

    test('a file that breaks off starts nothing', async () => {
      const { file, seen } = fileOf(size, size / 2);
      let whole = 0;
      answer = (req, res) => {
        req.on('error', () => {});
        req.resume().on('end', () => {
          whole += 1;
          res.end('{}');
        });
      };
      const outcome = await start(file);
      assert.equal(outcome.outcome, 'not_accepted', JSON.stringify(outcome));
      assert.match((outcome as { message: string }).message, /file could not be read/);
      assert.equal(whole, 0);
      assert.equal(seen.open, 0);
    });

    test('an upstream that cannot be reached opens no file', async () => {
      const { file, seen } = fileOf(size);
      const kept = address;
      address = 'http://127.0.0.1:1';
      try {
        assert.equal((await start(file)).outcome, 'not_accepted');
      } finally {
        address = kept;
      }
      assert.deepEqual(seen, { bytes: 0, open: 0 });
    });
  });

describe('a text file at a server that takes it as text', () => {
  const text = `\uFEFF"quoted" \\ Ünïcödé 🗼\u2028\n\t\u0000 end`.repeat(9_000);
  const bytes = Buffer.from(text);
  async function* inSizes(size: number) {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  for (const size of [1_001, 65_537, bytes.length])
    test(`arrives whole, read in pieces of ${size}`, async () => {
      let sent: any;
      answer = async (req, res) => {
        const body: Buffer[] = [];
        for await (const piece of req) body.push(piece);
        sent = JSON.parse(Buffer.concat(body).toString());
        res.writeHead(429).end('{}');
      };
      const content = [
        { type: 'text', text: 'Read it' },
        { type: 'file', file: { file_id: 'a' } },
      ];
      const call = callOf(false, { messages: [{ role: 'user', content }], max_tokens: 5 });
      const open = async () => inSizes(size);
      const files = { a: { content_type: 'text/plain', size: bytes.length, open } };
      const { outcome } = await createAnthropic(settings(), tools).chat!({ ...call, files });
      assert.equal(outcome, 'not_accepted');
      const [, document] = sent.messages[0].content;
      assert.deepEqual(document.source, { type: 'text', media_type: 'text/plain', data: text });
    });
});
