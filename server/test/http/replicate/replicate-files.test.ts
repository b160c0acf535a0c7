/** Files of Replicate's stock client: uploaded by itself for an input, and by hand. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import Replicate from 'replicate';
import { accept } from '../../kit/fake.ts';
import { startService, type Service, type TestAccount } from '../../kit/service.ts';
import { traces } from '../../kit/traces.ts';
import { image } from '../../storage/media-fixtures.ts';

let service: Service;
let account: TestAccount;
let replicate: Replicate;
let png: Buffer;
let jpeg: Buffer;
/** Bytes of the files that each started job got, by the value that named them. */
let received: Record<string, Buffer>[];

type Strategy = 'default' | 'upload';
const connect = (key: string, fileEncodingStrategy: Strategy = 'default') =>
  new Replicate({
    auth: key,
    baseUrl: `${service.base}/replicate/v1`,
    useFileOutput: false,
    fileEncodingStrategy,
  });

before(async () => {
  [png, jpeg] = await Promise.all([image('png'), image('jpeg')]);
  service = await startService();
});
beforeEach(async () => {
  account = await service.account();
  replicate = connect(account.key);
  received = [];
  service.fake.behave = {
    start: async (job, fake) => {
      const files: Record<string, Buffer> = {};
      for (const [value, file] of Object.entries(job.files)) {
        const chunks: Uint8Array[] = [];
        for await (const chunk of await file.open()) chunks.push(chunk);
        files[value] = Buffer.concat(chunks);
      }
      received.push(files);
      return accept(fake, job);
    },
  };
});
after(async () => {
  await service.audit();
  await service.stop();
});

const input = { prompt: 'a lighthouse' };
const blob = (bytes: Buffer, type = '') => new Blob([new Uint8Array(bytes)], { type });
const call = (method: string, path: string, body?: unknown, { key } = account) =>
  service.call(method, path, { key, ...(body !== undefined && { body }) });

/** Everything that an upload may leave behind. */
async function left() {
  const media = readdirSync(join(service.dir, 'media'), { recursive: true, withFileTypes: true });
  return { ...(await traces(service)), stored: media.filter((entry) => entry.isFile()).length };
}

async function refused(work: () => Promise<unknown>, status: number, code: string) {
  const before = await left();
  let thrown: any;
  await work().catch((error: unknown) => (thrown = error));
  assert.equal(thrown?.response?.status, status, String(thrown));
  assert.ok(thrown.message.includes(`"code":"${code}"`), thrown.message);
  assert.deepEqual(await left(), before);
}

describe('an input', () => {
  const inputs: [name: string, strategy: Strategy, make: () => object, field: string][] = [
    ['a Blob', 'default', () => ({ image_url: blob(png, 'image/png') }), 'image_url'],
    ['a Blob without a type', 'upload', () => ({ image_url: blob(png) }), 'image_url'],
    ['a Buffer', 'default', () => ({ image_url: png }), 'image_url'],
    [
      'a File of a name like no other',
      'upload',
      () => ({ image_url: new File([blob(png)], 'Ünï "1".png', { type: 'image/png' }) }),
      'image_url',
    ],
    ['a list of them', 'default', () => ({ image_urls: [png, blob(jpeg)] }), 'image_urls'],
  ];
  for (const [name, strategy, make, field] of inputs) {
    test(`with ${name} is uploaded first, and its job gets the bytes (${strategy})`, async () => {
      const made = await connect(account.key, strategy).predictions.create({
        model: 'fake/image',
        input: { ...input, ...make() },
      });
      await service.work();
      const { results } = (await replicate.files.list()) as any;
      const addresses = results.map((file: any) => file.urls.get).toReversed();
      assert.deepEqual([(made.input as any)[field]].flat(), addresses);
      const sent = addresses.length === 2 ? [png, jpeg] : [png];
      assert.deepEqual(received, [Object.fromEntries(sent.map((each, i) => [addresses[i], each]))]);
    });
  }

  test('of any other call takes the address too, if it is of its own account', async () => {
    const { urls, id } = await replicate.files.create(png);
    const body = { ...input, image_url: urls.get };
    assert.equal((await call('POST', '/v1/queue/fake/image', body)).status, 202);
    await call('POST', '/v1/queue/fake/image', { ...body, mask_url: id });
    await service.work();
    // The two jobs run at the same time, in any order.
    received.sort((a, b) => Object.keys(a).length - Object.keys(b).length);
    assert.deepEqual(received, [{ [urls.get]: png }, { [urls.get]: png, [id]: png }]);
    const content = [{ type: 'image_url', image_url: { url: urls.get } }];
    const chat = { model: 'fake/chat', messages: [{ role: 'user', content }] };
    assert.equal((await call('POST', '/v1/chat/completions', chat)).status, 200);

    const other = await service.account();
    const earlier = await left();
    for (const address of [urls.get, urls.get.replace(/.{4}$/, '0000'), `${urls.get}?x=1`]) {
      const stolen = { ...body, image_url: address };
      const reply = await call('POST', '/v1/queue/fake/image', stolen, other);
      assert.equal(reply.body.error?.code, 'invalid_input', `${address}: ${reply.text}`);
    }
    assert.deepEqual(await left(), earlier);
  });

  test('whose file was deleted makes no request, and fails one that waits for nothing', async () => {
    const { urls, id } = await replicate.files.create(png);
    const asked = { model: 'fake/image', input: { ...input, image_url: urls.get } };
    const waiting = await replicate.predictions.create(asked);
    assert.equal(await replicate.files.delete(id), true);
    await refused(() => replicate.predictions.create(asked), 422, 'invalid_input');
    await service.work();
    assert.equal((await replicate.predictions.get(waiting.id)).status, 'failed');
    assert.deepEqual(received, []);
    assert.deepEqual(await service.balance(account), { available: 100_000_000n, reserved: 0n });
  });
});

describe('files', () => {
  test('have every field, with any metadata, and are those of /v1/files', async () => {
    const metadata = { customer: 42, deep: { list: [1, 'ü', null] } };
    const made: any = await replicate.files.create(blob(png, 'image/png'), metadata);
    const { id, created_at, expires_at } = made;
    const { body: plain } = await call('GET', '/replicate/v1/files');
    assert.deepEqual(made, {
      id,
      content_type: 'image/png',
      size: png.length,
      checksums: { sha256: made.checksums.sha256 },
      metadata,
      created_at,
      expires_at,
      urls: { get: `${service.app.baseUrl.replace(/v1$/, '')}replicate/v1/files/${id}` },
    });
    assert.deepEqual(await replicate.files.get(id), made);
    assert.deepEqual(plain, { previous: null, next: null, results: [made] });
    assert.ok(Date.parse(expires_at) - Date.parse(created_at) >= 86_400_000);
    assert.deepEqual((await call('GET', `/v1/files/${id}`)).bytes, png);
  });

  test('are listed in pages, newest first, however they came', async () => {
    const headers = { 'content-type': 'image/png' };
    const ids: string[] = [];
    for (let i = 0; i < 103; i++) {
      const sent = { key: account.key, raw: png, headers };
      ids.push((await service.call('POST', '/v1/files', sent)).body.file_id);
    }
    await connect((await service.account()).key).files.create(png);
    const pages: string[][] = [];
    for await (const page of replicate.paginate<any>(replicate.files.list as any))
      pages.push(page.map(({ id }) => id));
    assert.deepEqual(
      pages.map((page) => page.length),
      [100, 3],
    );
    assert.deepEqual(pages.flat(), ids.toReversed());
  });

  test('are deleted with their bytes, once, by their account alone', async () => {
    const other = connect((await service.account()).key);
    const before = await left();
    const { id } = await replicate.files.create(png);
    for (const act of [other.files.get, other.files.delete])
      await refused(() => act(id), 404, 'not_found');
    assert.equal(await replicate.files.delete(id), true);
    assert.deepEqual(await left(), before);
    for (const act of [replicate.files.get, replicate.files.delete])
      await refused(() => act(id), 404, 'not_found');
    assert.equal((await call('GET', `/v1/files/${id}`)).status, 404);
  });
});

test('other fields of the form are named', async () => {
  const raw = new FormData();
  raw.append('content', blob(png), 'a.png');
  for (const name of ['filename', 'type']) raw.append(name, 'a');
  const { status, headers } = await service.call('POST', '/replicate/v1/files', {
    ...account,
    raw,
  });
  assert.deepEqual([status, headers.get('x-ignored-fields')], [201, 'filename, type']);
});

describe('an upload that is refused leaves nothing', () => {
  type Part = [name: string, value: string | Blob, file?: string];
  const wrong: [name: string, parts: () => Part[], status: number, words: RegExp][] = [
    ['without content', () => [['metadata', '{}']], 400, /no file in the field content/],
    ['with another field', () => [['file', blob(png), 'a.png']], 400, /send it as content/],
    [
      'with two files',
      () => [
        ['content', blob(png), 'a'],
        ['content', blob(png), 'b'],
      ],
      400,
      /more/,
    ],
    [
      'with a list as metadata',
      () => [
        ['content', blob(png), 'a'],
        ['metadata', '[]'],
      ],
      400,
      /object/,
    ],
    [
      'with broken metadata before it',
      () => [
        ['metadata', blob(Buffer.from('{"a":')), 'blob'],
        ['content', blob(png), 'a'],
      ],
      400,
      /JSON object/,
    ],
    [
      'with long metadata',
      () => [
        ['content', blob(png), 'a'],
        ['metadata', JSON.stringify({ a: 'ü'.repeat(2_100) })],
      ],
      400,
      /4096 bytes/,
    ],
    [
      'with a NUL in metadata',
      () => [
        ['content', blob(png), 'a'],
        ['metadata', '{"a":"\\u0000"}'],
      ],
      400,
      /JSON object/,
    ],
    ['of no media', () => [['content', blob(Buffer.from([1, 2, 3, 0])), 'a']], 415, /not accepted/],
    ['of no bytes', () => [['content', blob(Buffer.alloc(0)), 'a']], 400, /empty/],
    ['of another type', () => [['content', blob(png, 'image/jpeg'), 'a']], 415, /image\/png/],
  ];
  const send = async (raw: FormData | Buffer, headers = {}) =>
    service.call('POST', '/replicate/v1/files', { key: account.key, raw, headers });

  for (const [name, parts, status, words] of wrong) {
    test(name, async () => {
      const before = await left();
      const form = new FormData();
      for (const [field, value, file] of parts())
        if (typeof value === 'string') form.append(field, value);
        else form.append(field, value, file);
      const reply = await send(form);
      assert.equal(reply.status, status, reply.text);
      assert.match(reply.body.detail, words);
      assert.deepEqual(await left(), before);
    });
  }

  test('as raw bytes', async () => {
    const reply = await send(png, { 'content-type': 'image/png' });
    assert.deepEqual([reply.status, reply.body.status], [415, 415]);
    assert.match(reply.body.detail, /multipart\/form-data/);
  });

  test('by an account that never had money', async () => {
    const poor = connect((await service.account({ usd: 0 })).key);
    await refused(() => poor.files.create(png), 402, 'insufficient_balance');
  });
});
