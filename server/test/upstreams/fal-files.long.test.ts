import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFal } from '../../src/upstreams/fal/fal.ts';
import { serveHttp } from '../lib/local-server.ts';
import { serve } from './fakes/kit.ts';
import { jobFor, open, started } from './fal-kit.ts';
import { fileOf } from './job-kit.ts';

const id = 'file_00000000000000000000000001';
const png = Buffer.from('the bytes of a picture');

test('a stored file is uploaded once, and its address replaces it', async (t) => {
  const { fake, fal } = await open(t);
  const file = fileOf(png, { file_name: 'cat.png' });
  const input = { image_url: id, more: { image_urls: [id, id] }, prompt: 'p' };
  await started(fal, { files: { [id]: file } }, input);
  const [initiate, put, submit] = fake.calls;
  assert.equal(fake.calls.length, 3);
  assert.deepEqual([initiate!.method, initiate!.path], ['POST', '/storage/upload/initiate']);
  assert.deepEqual(JSON.parse(initiate!.body.toString()), {
    content_type: 'image/png',
    file_name: 'cat.png',
  });
  assert.deepEqual(JSON.parse(String(initiate!.headers['x-fal-object-lifecycle'])), {
    expiration_duration_seconds: 172_800,
  });
  assert.equal(put!.method, 'PUT');
  assert.equal(put!.headers['content-type'], 'image/png');
  assert.equal(put!.headers['content-length'], String(png.length));
  assert.equal(put!.headers.authorization, undefined);
  const [[name, bytes]] = [...fake.files] as [[string, Buffer]];
  assert.deepEqual(bytes, png);
  const url = `${fake.url}/files/${name}`;
  const expected = { image_url: url, more: { image_urls: [url, url] }, prompt: 'p' };
  assert.deepEqual(JSON.parse(submit!.body.toString()), expected);
});

test('addresses and data of the caller pass unchanged; unknown fields lose theirs', async (t) => {
  const { fake, fal } = await open(t);
  const data = 'data:image/png;base64,AAAA';
  const given = { image_url: 'https://example.com/a.png', end_image_url: data };
  const stray = { mask_url: 'https://example.com/b.png', seed: 4 };
  const fields = Object.keys(given);
  await started(fal, { fields }, { ...given, ...stray });
  assert.deepEqual(fake.journal[0]!.input, { ...given, seed: 4 });
  assert.equal(fake.calls.length, 1);
});

test('a file without a name gets one, and an empty file is a file', async (t) => {
  const { fake, fal } = await open(t);
  const file = fileOf(Buffer.alloc(0), { content_type: 'audio/mpeg' });
  await started(fal, { files: { [id]: file } }, { audio_url: id });
  assert.equal(JSON.parse(fake.calls[0]!.body.toString()).file_name, 'input.mpeg');
  assert.equal([...fake.files.values()][0]!.length, 0);
});

test('a large file goes up in parts of ten mebibytes', async (t) => {
  const { fake, fal } = await open(t);
  const chunks = Array.from({ length: 25 }, (_, index) => Buffer.alloc(1024 * 1024, index));
  const file = fileOf(Buffer.alloc(0), { content_type: 'video/mp4', size: 95_000_000 });
  file.open = async () =>
    (async function* () {
      yield* chunks;
    })();
  await started(fal, { files: { [id]: file } }, { video_url: id });
  const steps = fake.calls.map(({ method, path, body }) => {
    return [method, path.replace(/[0-9a-f-]{36}-/, ''), body.length];
  });
  assert.deepEqual(steps.slice(1, 4), [
    ['PUT', '/upload/input.mp4/1', 10_485_760],
    ['PUT', '/upload/input.mp4/2', 10_485_760],
    ['PUT', '/upload/input.mp4/3', 5_242_880],
  ]);
  assert.equal(steps[0]![1], '/storage/upload/initiate-multipart');
  assert.equal(steps[4]![1], '/upload/input.mp4/complete');
  assert.ok([...fake.files.values()][0]!.equals(Buffer.concat(chunks)));
  assert.equal(fake.journal[0]!.input.video_url, `${fake.url}/files/${[...fake.files.keys()][0]}`);
});

const storages: [string, object, expected: object][] = [
  ['out of credit', { status: 402, json: {} }, { outcome: 'not_accepted', why: 'account' }],
  ['not taking the key', { status: 401, json: {} }, { outcome: 'not_accepted', why: 'credential' }],
  ['busy', { status: 429, headers: { 'retry-after': '3' } }, { retry_after_ms: 3000 }],
  ['not there', { status: 404 }, { outcome: 'not_accepted', why: 'busy' }],
  ['broken', { status: 500 }, { outcome: 'not_accepted', why: 'busy' }],
  ['cut off', { cutAfter: 0 }, { outcome: 'not_accepted', why: 'lost' }],
  ['refusing it', { status: 422, json: { detail: 'no' } }, { outcome: 'rejected', unasked: true }],
  ['speaking half', { body: '{"file_url' }, { outcome: 'not_accepted', why: 'busy' }],
  [
    'pointing inwards',
    { json: { file_url: 'https://v3.fal.media/a', upload_url: 'https://169.254.169.254/put' } },
    { outcome: 'not_accepted', message: 'its storage gave an unusable upload address' },
  ],
  [
    'pointing to plain http',
    { json: { file_url: 'https://v3.fal.media/a', upload_url: 'http://v3.fal.media/put' } },
    { outcome: 'not_accepted', message: 'its storage gave an unusable upload address' },
  ],
];
for (const [name, reply, expected] of storages) {
  test(`a storage ${name}: ${JSON.stringify(expected)}, and no job`, async (t) => {
    const { fake, tools, settings } = await open(t);
    const storage = await serve(() => reply);
    t.after(() => storage.close());
    const fal = createFal({ ...settings, options: { rest_url: storage.url } }, tools);
    const outcome = await fal.start(jobFor({ image_url: id }, { files: { [id]: fileOf(png) } }));
    assert.partialDeepStrictEqual(outcome, expected);
    assert.equal(storage.calls.length, 1);
    assert.equal(fake.calls.length, 0);
  });
}

test('a file that cannot be read starts no job, and does not blame the caller', async (t) => {
  const { fake, fal } = await open(t);
  const open2 = () => Promise.reject(new Error('the bytes are gone'));
  const files = { [id]: { ...fileOf(png), open: open2 } };
  const outcome = await fal.start(jobFor({ image_url: id }, { files }));
  assert.partialDeepStrictEqual(outcome, { outcome: 'not_accepted', why: 'busy' });
  assert.equal(fake.journal.length, 0);
});

test('an upload address by a name that leads to the own network gets no byte of the file', async (t) => {
  const { fake, tools, settings } = await open(t);
  const inside = await serveHttp((_req, res) => res.end());
  t.after(() => inside.close());
  const { port } = inside;
  const json = {
    file_url: 'https://v3.fal.media/a',
    upload_url: `https://files.example.com:${port}/a`,
  };
  for (const size of [png.length, 95_000_000]) {
    const storage = await serve(() => ({ json }));
    t.after(() => storage.close());
    const fal = createFal({ ...settings, options: { rest_url: storage.url } }, tools);
    const files = { [id]: fileOf(png, { size }) };
    const outcome = await fal.start(jobFor({ image_url: id }, { files }));
    assert.partialDeepStrictEqual(outcome, { outcome: 'not_accepted', why: 'busy' });
    assert.match((outcome as { message: string }).message, /private|own network|public|blocked/);
  }
  assert.equal(inside.connections, 0);
  assert.equal(fake.journal.length, 0);
});
