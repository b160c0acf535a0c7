import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { after, beforeEach, describe, test } from 'node:test';
import sharp from 'sharp';
import { typeByBytes } from '../../src/core/media/sniff.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { createDownload } from '../../src/upstreams/download.ts';
import { createHttpJob } from '../../src/upstreams/http-job/http-job.ts';
import { createOpenai } from '../../src/upstreams/openai/openai.ts';
import { assertRefused } from '../kit/refusal.ts';
import { withService } from '../kit/with-service.ts';
import { serve, type Answer, type Call, type ServedFake } from '../upstreams/fakes/kit.ts';
import { plain } from '../upstreams/http-job-kit.ts';
import { card, moneyOf, rounds } from './floor.ts';

/**
 * An upstream gets a caller's file under the type of its bytes, and in a type that the row takes:
 * pictures are converted, other files are refused before anything is spent.
 */

const file = (name: string) => readFileSync(join(import.meta.dirname, '../fixtures/media', name));

const row = (upstream: string, id: string, task: string, kind: string, types: string) => `
  - id: ${upstream}/${id}
    upstream: ${upstream}
    kind: ${kind}
    task: ${task}
    name: ${id}
    price: { unit: request, usd: "0.01" }
    cost_usd: "0.004"
    ${types === '' ? '' : `input_types: [${types}]`}
    input_schema: { type: object, properties: { prompt: { type: string }, image_url: { type: string }, audio_url: { type: string } } }
    example: { prompt: a }`;
const catalog = `
models:${row('jobs', 'usual', 'edit', 'image', '')}
${row('jobs', 'png', 'edit', 'image', 'png')}
${row('jobs', 'jpeg', 'edit', 'image', 'jpeg, mp3')}
${row('jobs', 'tiff', 'edit', 'image', 'png, tiff, heic')}
${row('jobs', 'avatar', 'talking-avatar', 'video', 'png, webm')}
${row('open', 'edit', 'edit', 'image', 'png, jpeg, webp')}
`;

let server: ServedFake;
const fetch = createFetch({ guard: false });
/** The files that the upstream got, as `type size`. */
let got: string[];
/** The type that the server of the caller's addresses states. */
let stated: string;

async function note(told: string, bytes: Buffer): Promise<void> {
  const { width, height } = await sharp(bytes)
    .metadata()
    .catch(() => ({ width: 0, height: 0 }));
  assert.equal(told, await typeByBytes(bytes, told));
  got.push(width === 0 ? told : `${told} ${width}x${height}`);
}

async function answer({ method, path, body, headers }: Call): Promise<Answer> {
  if (path.startsWith('/media/'))
    return { body: file(path.slice('/media/'.length)), headers: { 'content-type': stated } };
  if (method === 'POST' && path === '/jobs') {
    const { input } = JSON.parse(body.toString());
    for (const value of [input.image_url, input.audio_url]) {
      const [, type, data] = /^data:([^;]+);base64,(.*)$/s.exec(value ?? '') ?? [];
      if (data !== undefined) await note(type!, Buffer.from(data, 'base64'));
      else if (value !== undefined) got.push(value);
    }
    return { json: { id: 'job-1', status: 'queued' } };
  }
  if (method === 'POST') {
    const boundary = /boundary=(.*)$/.exec(String(headers['content-type']))![1]!;
    const part = body
      .toString('latin1')
      .split(`--${boundary}`)
      .find((each) => /filename=/.test(each))!;
    const [head, ...rest] = part.split('\r\n\r\n');
    const name = /filename="([^"]*)"/.exec(head!)![1]!;
    await note(
      /content-type: (\S+)/i.exec(head!)![1]!,
      Buffer.from(rest.join('\r\n\r\n').slice(0, -2), 'latin1'),
    );
    got.push(name);
    return { json: { data: [{ b64_json: file('photo.png').toString('base64') }] } };
  }
  const out = `data:image/png;base64,${file('photo.png').toString('base64')}`;
  return {
    json: {
      status: 'done',
      outputs: [out, `data:video/mp4;base64,${file('film.mp4').toString('base64')}`],
    },
  };
}

const { service, account } = withService(async (use) => {
  server = use(await serve(answer));
  const download = createDownload(fetch, { maxBytes: 1e6, stepSeconds: 30 });
  const tools = { fetch, guarded: fetch, download, now: () => Date.now() };
  const base = { url: server.url, key: 'own-key', secret: null, concurrency: 100 };
  const files = { data_uri_max_bytes: 1_000_000 };
  return {
    catalog,
    env: { FAREBOX_TEST_PUBLIC_HOSTS: new URL(server.url).host },
    upstreams: [
      createHttpJob({ ...base, name: 'jobs', options: { ...plain, files } }, tools),
      createOpenai({ ...base, name: 'open', options: {} }, tools),
    ],
    account: { open_jobs: 1_000 },
  };
});
after(() => fetch.close());
beforeEach(() => {
  got = [];
  stated = 'application/octet-stream';
});

async function uploaded(name: string, type: string): Promise<string> {
  const reply = await account.upload(file(name), type);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.file_id;
}

const submit = (model: string, input: object) =>
  account.post(`/v1/queue/${model}`, { prompt: 'x', ...input });

/** Runs the job to its end, and returns its card. */
async function run(model: string, input: object): Promise<any> {
  const reply = await submit(model, input);
  assert.equal(reply.status, 202, reply.text);
  await rounds(service, 3);
  return card(account, reply.body.request_id);
}

const dataOf = (name: string, type: string) =>
  `data:${type};base64,${file(name).toString('base64')}`;

/** The value of a field that names the file in this way. */
type Value = () => Promise<string> | string;
const stored =
  (name: string, type: string): Value =>
  () =>
    uploaded(name, type);
const data =
  (name: string, type: string): Value =>
  () =>
    dataOf(name, type);
const fetched =
  (name: string): Value =>
  () =>
    `${server.url}/media/${name}`;

describe('an upstream gets', () => {
  const cases: [what: string, model: string, value: Value, ...expected: string[]][] = [
    ['a TIFF as PNG', 'jobs/usual', stored('lzw.tif', 'image/tiff'), 'image/png 96x64'],
    ['a TIFF upright', 'jobs/usual', stored('turned.tif', 'image/tiff'), 'image/png 64x96'],
    ['a TIFF as it is', 'jobs/tiff', stored('lzw.tif', 'image/tiff'), 'image/tiff 96x64'],
    ['a HEIC as it is', 'jobs/tiff', stored('photo.heic', 'image/heic'), 'image/heic 96x64'],
    ['an AVIF as JPEG', 'jobs/jpeg', stored('general.avif', 'image/avif'), 'image/jpeg 96x64'],
    ['a WebP as it is', 'jobs/usual', stored('photo.webp', 'image/webp'), 'image/webp 96x64'],
    ['a moving GIF as one PNG', 'jobs/png', stored('moving.gif', 'image/gif'), 'image/png 64x48'],
    ['a photo as PNG, upright', 'jobs/png', stored('turned.jpg', 'image/jpeg'), 'image/png 64x96'],
    [
      'a data: address of a TIFF as PNG',
      'jobs/usual',
      data('lzw.tif', 'image/tiff'),
      'image/png 96x64',
    ],
    [
      'a data: address under its own type',
      'jobs/usual',
      data('photo.jpg', 'application/octet-stream'),
      'image/jpeg 96x64',
    ],
    [
      'a data: address of bytes by another name',
      'jobs/usual',
      data('photo.jpg', 'binary/octet-stream'),
      'image/jpeg 96x64',
    ],
    [
      'a data: address that is called another',
      'jobs/usual',
      data('photo.webp', 'image/png'),
      'image/webp 96x64',
    ],
    ['a voice under its own type', 'jobs/avatar', stored('sound.webm', 'video/webm'), 'audio/webm'],
    [
      'a voice in a data: address',
      'jobs/avatar',
      data('sound.webm', 'audio/webm;codecs=opus'),
      'audio/webm',
    ],
    ['an address as it is', 'jobs/png', fetched('lzw.tif'), 'URL/media/lzw.tif'],
    [
      'a fetched PNG that is called bytes',
      'open/edit',
      fetched('photo.png'),
      'image/png 96x64',
      'image-1.png',
    ],
    [
      'a fetched JPEG that is called bytes',
      'open/edit',
      fetched('turned.jpg'),
      'image/jpeg 96x64',
      'image-1.jpg',
    ],
    [
      'a moving AVIF as one PNG',
      'open/edit',
      stored('moving.avif', 'image/avif'),
      'image/png 64x48',
      'image-1.png',
    ],
    ['a fetched AVIF as PNG', 'open/edit', fetched('photo.avif'), 'image/png 96x64', 'image-1.png'],
    [
      'a stored TIFF as PNG, in a form',
      'open/edit',
      stored('lzw.tif', 'image/tiff'),
      'image/png 96x64',
      'image-1.png',
    ],
  ];
  for (const [what, model, value, ...expected] of cases)
    test(what, async () => {
      const field = model === 'jobs/avatar' ? 'audio_url' : 'image_url';
      const { status, error } = await run(model, { [field]: await value() });
      assert.equal(status, 'COMPLETED', JSON.stringify(error));
      assert.deepEqual(
        got.map((each) => each.replace(server.url, 'URL')),
        expected,
      );
    });
});

describe('a file that cannot be converted is refused with 400, and nothing is reserved:', () => {
  const cases: [what: string, model: string, value: Value, rule: RegExp][] = [
    [
      'HEIC',
      'jobs/usual',
      stored('photo.heic', 'image/heic'),
      /image_url is HEIC; this model takes PNG, JPEG, WebP, GIF, AVIF, and HEIC cannot be converted here$/,
    ],
    [
      'BMP',
      'jobs/png',
      stored('photo.bmp', 'image/bmp'),
      /image_url is BMP; this model takes PNG, and BMP cannot be converted here$/,
    ],
    [
      'HEIC in a data: address',
      'open/edit',
      data('photo.heic', 'image/jpeg'),
      /is HEIC; this model takes PNG, JPEG, WebP, and HEIC cannot be converted here$/,
    ],
    [
      'a packed picture that is called a picture',
      'open/edit',
      () => `data:image/png;base64,${gzipSync(file('photo.png')).toString('base64')}`,
      /is application\/gzip; this model takes PNG, JPEG, WebP$/,
    ],
    [
      'noise that is called a picture',
      'open/edit',
      () => `data:image/png;base64,${Buffer.alloc(90, '\x01\xff').toString('base64')}`,
      /is of no known type; this model takes PNG, JPEG, WebP$/,
    ],
    [
      'a PSD that is called a JPEG',
      'jobs/png',
      data('photo.psd', 'image/jpeg'),
      /is image\/vnd\.adobe\.photoshop; this model takes PNG, and .*photoshop cannot be converted here$/,
    ],
    ['a film', 'jobs/png', stored('film.mp4', 'video/mp4'), /is MP4; this model takes PNG$/],
    [
      'a sound that is not listed',
      'jobs/jpeg',
      stored('sound.wav', 'audio/wav'),
      /is WAV; this model takes MP3$/,
    ],
  ];
  for (const [what, model, value, rule] of cases)
    test(what, async () => {
      const input = { image_url: await value() };
      const earlier = await service.transfers();
      const error = assertRefused(await submit(model, input), 'invalid_input');
      assert.match(error.message, new RegExp(`${rule.source.replace(/\$$/, '')}\\.$`));
      assert.equal(error.param, 'image_url');
      assert.equal(await service.transfers(), earlier);
      assert.deepEqual(got, []);
    });
});

describe('a file at an address that cannot be taken ends as upstream_rejected, free of charge:', () => {
  const cases: [what: string, name: string, rule: RegExp][] = [
    [
      'HEIC',
      'photo.heic',
      /image_url is HEIC; this model takes PNG, JPEG, WebP, and HEIC cannot be converted here\./,
    ],
    ['an AVI', 'film.avi', /image_url is video\/vnd\.avi; this model takes PNG, JPEG, WebP\./],
    [
      'a PSD',
      'photo.psd',
      /is image\/vnd\.adobe\.photoshop; this model takes PNG, JPEG, WebP, and/,
    ],
    ['an error page', 'README.md', /image_url is plain text; this model takes PNG, JPEG, WebP\./],
  ];
  for (const [what, name, rule] of cases)
    test(what, async () => {
      stated = 'video/x-msvideo';
      const { error, charged_usd_micro, request_id } = await run('open/edit', {
        image_url: `${server.url}/media/${name}`,
      });
      assert.equal(error.code, 'upstream_rejected');
      assert.match(error.message, rule);
      assert.equal(charged_usd_micro, '0');
      assert.equal(await moneyOf(service, request_id), 'reserve 10000, release 10000');
      assert.deepEqual(got, []);
    });

  test('a damaged TIFF', async () => {
    const bytes = file('lzw.tif');
    bytes.fill(0, 200, 800);
    const reply = await account.upload(bytes, 'image/tiff');
    const { error } = await run('jobs/usual', { image_url: reply.body.file_id });
    assert.equal(error.code, 'upstream_rejected');
    assert.match(error.message, /is damaged/);
    assert.deepEqual(got, []);
  });
});
