import { beforeEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../src/core/errors.ts';
import { sql } from '../../src/lib/sql/sql.ts';
import { accept, images, tinyPng } from '../kit/fake.ts';
import { assertRefused } from '../kit/refusal.ts';
import { fakeCatalog, type CallOptions, type Reply } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';
import { inLong } from '../kit/long.ts';

/** OpenAI's Images as requests of the queue: with the same money, limits, records and repeats. */

const more = `
  - id: fake/edit
    kind: image
    task: edit
    name: Fake edit
    description: Two cents an image, and one for each reference.
    price: { unit: image, usd: "0.02" }
    extras: [{ per_item: reference_image_urls, add_usd: "0.01", cost_usd: "0.001", label: references }]
    cost_usd: "0.004"
    upstream_model: edit
    input_schema:
      type: object
      additionalProperties: false
      properties:
        prompt: { type: string }
        image_url: { type: string }
        reference_image_urls: { type: array, maxItems: 3, items: { type: string } }
        mask_url: { type: string }
        size: { enum: [512x512, 1024x1024] }
      required: [prompt, image_url]
    example: { prompt: a cat, image_url: "https://example.com/cat.png" }
`;

const { service, account } = withService({
  catalog: fakeCatalog + more,
  env: { FAREBOX_TEST_PUBLIC_HOSTS: '127.0.0.1:9' },
});
beforeEach(() => {
  service.fake.behave = { poll: () => ({ state: 'done', result: images(1) }) };
});

const generations = '/v1/images/generations';
const edits = '/v1/images/edits';
const call = { model: 'fake/image', prompt: 'a cat' };
const hook = 'http://127.0.0.1:9';
const hooked = `${generations}?webhook_url=${hook}`;

function send(path: string, body: unknown, options: CallOptions = {}): Promise<Reply> {
  return account.post(path, body, { base: service.base, ...options });
}

/** Runs the worker until the call has its reply, and returns it. */
async function made(reply: Promise<Reply>): Promise<Reply> {
  let isAnswered = false;
  void reply.finally(() => (isAnswered = true)).catch(() => {});
  while (!isAnswered) {
    await service.wakeAll();
    await service.work();
  }
  return reply;
}

interface FormOptions extends CallOptions {
  path?: string;
  file?: Buffer;
  mask?: Buffer;
}

async function form(fields: Record<string, string>, options: FormOptions = {}): Promise<Reply> {
  const { path = edits, file = tinyPng, mask, headers, ...rest } = options;
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  data.append('image[]', new Blob([new Uint8Array(file)], { type: 'image/png' }), 'cat.png');
  if (mask) data.append('mask', new Blob([new Uint8Array(mask)]), 'mask.png');
  const sent = new Response(data);
  const type = { 'content-type': sent.headers.get('content-type')! };
  const raw = Buffer.from(await sent.arrayBuffer());
  return send(path, undefined, { raw, headers: { ...type, ...headers }, ...rest });
}

const edit = { model: 'fake/edit', prompt: 'a cat' };
const largePng = Buffer.concat([tinyPng, Buffer.alloc(1024 * 1024)]);
const dataUrl = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`;

async function newest(key = account.key): Promise<any> {
  const { body } = await service.call('GET', '/v1/requests?limit=1', { key });
  const id = body.data[0]?.request_id;
  return id === undefined ? {} : (await service.call('GET', `/v1/requests/${id}`, { key })).body;
}

describe('a call is a request of the queue:', () => {
  test('the same reservation and charge, shown in the reply', async () => {
    service.fake.behave.poll = () => ({ state: 'done', result: images(2) });
    const before = await service.balance(account);
    const reply = await made(send(generations, { ...call, n: 3, response_format: 'b64_json' }));
    assert.equal(reply.status, 200, reply.text);
    const { created, data, usage, request_id } = reply.body;
    const b64_json = tinyPng.toString('base64');
    assert.deepEqual(data, [{ b64_json }, { b64_json }]);
    const card = await newest();
    assert.equal(request_id, card.request_id);
    assert.equal(created, Math.floor(Date.parse(card.created_at) / 1000));
    assert.deepEqual(card.input, { prompt: 'a cat', num_images: 3 });
    assert.deepEqual([card.quoted_usd_micro, card.charged_usd_micro], ['30000', '20000']);
    assert.equal(usage.cost_usd_micro, '20000');
    assert.equal(reply.headers.get('x-charge-usd-micro'), '20000');
    const now = await service.balance(account);
    assert.deepEqual(now, { available: before.available - 20_000n, reserved: 0n });
  });

  test('an input that the model does not know is named, as by a submit', async () => {
    const sent = { ...call, promt: 'ä', seed: 7, response_format: 'url' };
    const { body, bytes, headers } = await made(send(generations, sent));
    assert.deepEqual(body.unknown_inputs, [
      { field: 'promt', did_you_mean: null },
      { field: 'seed', did_you_mean: null },
    ]);
    assert.equal(headers.get('x-ignored-fields'), 'promt, seed');
    assert.equal(bytes.length, Number(headers.get('content-length')));
  });

  test('a webhook in the query is the one that the body may name', async () => {
    const headers = { 'idempotency-key': 'hook-1' };
    const { body } = await made(send(`${hooked}/cats`, call, { headers }));
    const named = { ...call, webhook_url: `${hook}/cats` };
    assert.equal(body.request_id, (await newest()).request_id);
    assert.equal((await newest()).webhook.url, `${hook}/cats`);
    for (const path of [`${hooked}/cats`, generations]) {
      const again = await send(path, path === generations ? named : call, { headers });
      assert.equal(again.body.request_id, body.request_id, path);
    }
    const other = await send(`${hooked}/dogs`, call, { headers });
    assertRefused(other, 'idempotency_conflict');
  });

  test('each image of a form counts for the price and reaches the model', async () => {
    const reply = await made(
      form({ ...edit, image_url: '' }, { mask: tinyPng }).then(async (refused) => {
        // An empty text does not count as an image, so the form is complete without it.
        assert.equal(assertRefused(refused, 'bad_request').param, 'image');
        return form(edit, { mask: tinyPng });
      }),
    );
    assert.equal(reply.status, 200, reply.text);
    const { input, charged_usd_micro } = await newest();
    assert.deepEqual(Object.keys(input).sort(), ['image_url', 'mask_url', 'prompt']);
    assert.notEqual(input.image_url, input.mask_url);
    assert.equal(charged_usd_micro, '20000');
    const file = await service.call('GET', `/v1/files/${input.image_url}`, account);
    assert.deepEqual(file.bytes, tinyPng);
    const image = [input.image_url, 'https://example.com/a.png', { file_id: input.mask_url }];
    const three = await made(send(edits, { ...edit, image, size: '512x512' }));
    assert.equal(three.body.usage.cost_usd_micro, '40000');
    assert.equal((await newest()).input.size, '512x512');
  });

  test('an image in JSON that is too large to be kept with it becomes an upload', async () => {
    const image = [dataUrl(largePng), 'https://example.com/a.png', { image_url: dataUrl(tinyPng) }];
    const headers = { 'idempotency-key': 'large-1' };
    const sent = { ...edit, image, mask: dataUrl(tinyPng) };
    const { body } = await made(send(edits, sent, { headers }));
    assert.equal(body.usage.cost_usd_micro, '40000');
    const { input } = await newest();
    const [address, second] = input.reference_image_urls;
    assert.equal(address, 'https://example.com/a.png');
    for (const [id, bytes] of [
      [input.image_url, largePng],
      [second, tinyPng],
      [input.mask_url, tinyPng],
    ])
      assert.deepEqual((await service.call('GET', `/v1/files/${id}`, account)).bytes, bytes);
    const earlier = await traces(service);
    const again = await send(edits, sent, { headers });
    assert.equal(again.body.request_id, body.request_id);
    const others = [
      { ...sent, image: [image[0], 'https://example.com/b.png', image[2]] },
      { ...sent, image: [dataUrl(Buffer.concat([largePng, tinyPng])), ...image.slice(1)] },
      { ...sent, mask: dataUrl(Buffer.concat([tinyPng, tinyPng])) },
    ];
    for (const other of others)
      assertRefused(await send(edits, other, { headers }), 'idempotency_conflict');
    assert.deepEqual(await traces(service), earlier);
  });

  test('its limits hold, and the call leaves nothing', async () => {
    const poor = await service.account({ usd: 0.015 });
    const kept = await service.account();
    await service.db.run(sql`update keys set models = '{fake/edit}' where id = ${kept.key_id}`);
    const earlier = await traces(service);
    const refusals: [ErrorCode, Reply][] = [
      ['insufficient_balance', await send(generations, { ...call, n: 2 }, { key: poor.key })],
      ['insufficient_balance', await form(edit, { key: poor.key })],
      ['unpriceable', await send(generations, { ...call, n: 5 })],
      ['invalid_input', await send(generations, { ...call, prompt: 'x'.repeat(2_000) })],
      ['unknown_model', await send(generations, { ...call, model: 'fake/none' })],
      ['forbidden', await send(generations, call, { key: kept.key })],
      ['unauthorized', await send(generations, call, { key: null })],
      ['bad_webhook_url', await send(generations, { ...call, webhook_url: 'http://localhost' })],
      ['bad_webhook_url', await send(`${generations}?webhook_url=http://localhost`, call)],
      ['bad_webhook_url', await send(`${hooked}/a`, { ...call, webhook_url: `${hook}/b` })],
      ['bad_webhook_url', await form(edit, { path: `${edits}?webhook_url=http://localhost` })],
    ];
    for (const [code, reply] of refusals) assertRefused(reply, code);
    assert.equal(refusals[2]![1].body.error.param, 'n');
    assert.deepEqual(await traces(service), earlier);
  });
});

describe('a repeat under the same Idempotency-Key', () => {
  test('is one job, whose images it gets in the form that it asks for', async () => {
    const headers = { 'idempotency-key': 'cat-1' };
    const both = Promise.all([
      send(generations, { ...call, response_format: 'url' }, { headers }),
      send(generations, { ...call, n: null }, { headers }),
    ]);
    await made(both.then(([reply]) => reply));
    const [first, second] = await both;
    const third = await send(generations, { ...call, response_format: 'b64_json' }, { headers });
    const ids = [first, second, third].map(({ body }) => body.request_id);
    assert.deepEqual(ids, Array(3).fill(ids[0]));
    assert.equal(third.headers.get('idempotent-replayed'), 'true');
    assert.equal(third.headers.get('x-charge-usd-micro'), '0');
    assert.equal(third.body.usage.cost_usd_micro, '10000');
    assert.equal(second.body.data[0].url, first.body.data[0].url);
    assert.equal(third.body.data[0].b64_json, second.body.data[0].b64_json);
    assertRefused(await send(generations, { ...call, n: 2 }, { headers }), 'idempotency_conflict');
    assertRefused(await send('/v1/queue/fake/image', call, { headers }), 'idempotency_conflict');
  });

  test('of a failed request gets the same error, which says that it stays failed', async () => {
    const headers = { 'idempotency-key': 'cat-failed' };
    service.fake.behave.poll = () => ({
      state: 'failed',
      code: 'upstream_failed',
      message: 'out of paint',
    });
    const first = await made(send(generations, call, { headers }));
    const second = await send(generations, call, { headers });
    const told = [first, second].map((reply) => {
      const { details } = assertRefused(reply, 'submit_failed');
      assert.equal(reply.headers.get('x-should-retry'), 'false');
      return [details.request_id, reply.headers.get('idempotent-replayed')];
    });
    const { request_id } = await newest();
    assert.deepEqual(told, [
      [request_id, null],
      [request_id, 'true'],
    ]);
  });

  test('with a form is recognised by its bytes, and stores nothing again', async () => {
    const headers = { 'idempotency-key': 'cat-2' };
    const first = await made(form(edit, { headers }));
    const earlier = await traces(service);
    const second = await form(edit, { headers });
    assert.equal(second.body.request_id, first.body.request_id);
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    const other = Buffer.concat([tinyPng, Buffer.from([0])]);
    assertRefused(await form(edit, { headers, file: other }), 'idempotency_conflict');
    assertRefused(await form(edit, { headers, mask: tinyPng }), 'idempotency_conflict');
    assert.deepEqual(await traces(service), earlier);
  });
});

describe('a request that brings no images', () => {
  const ends: [name: string, code: ErrorCode, status: string, behave: () => void][] = [
    [
      'since the model refused it',
      'invalid_input',
      'FAILED',
      () => (service.fake.behave.start = () => ({ outcome: 'rejected', message: 'no cats' })),
    ],
    [
      'since the model failed',
      'submit_failed',
      'FAILED',
      () =>
        (service.fake.behave.poll = () => ({
          state: 'failed',
          code: 'upstream_failed',
          message: 'out of paint',
        })),
    ],
    ['since it was cancelled', 'request_not_ready', 'CANCELLED', () => {}],
  ];
  for (const [name, code, status, behave] of ends) {
    test(`${name} is told so, and costs nothing`, async () => {
      const before = await service.balance(account);
      behave();
      const earlier = (await newest()).request_id;
      const reply = send(generations, call);
      if (status === 'CANCELLED') {
        const card = await until('it is submitted', async () => {
          const card = await newest();
          return card.request_id === earlier ? null : card;
        });
        await service.call('POST', `/v1/requests/${card.request_id}/cancel`, account);
      }
      const error = assertRefused(await made(reply), code);
      assert.equal(error.details.status, status);
      if (status === 'FAILED') {
        assert.match(error.message, /(input: no cats|out of paint)\. Nothing was charged\.$/);
        assert.equal(error.details.request_id, (await newest()).request_id);
      }
      assert.deepEqual(await service.balance(account), before);
    });
  }

  inLong('in time goes on, and a repeat under the same key gets them later', async () => {
    service.fake.behave.start = (job) => ({ ...accept(service.fake, job), poll_after_ms: 60_000 });
    const { app, base } = await service.another();
    const headers = { 'idempotency-key': 'cat-3' };
    const earlier = (await newest()).request_id;
    const waiting = send(generations, call, { base, headers });
    await until('it is submitted', async () => (await newest()).request_id !== earlier);
    await app.stop(2_000);
    const error = assertRefused(await waiting, 'request_not_ready');
    const { request_id } = await newest();
    assert.equal(error.details.request_id, request_id);
    assert.match(error.details.status_url, new RegExp(`/v1/requests/${request_id}/status$`));
    const reply = await made(send(generations, call, { headers }));
    assert.equal(reply.body.request_id, request_id);
  });

  test('yet, while the process stops, is waited for a little longer', async () => {
    const { app, base } = await service.another();
    const earlier = (await newest()).request_id;
    const waiting = send(generations, call, { base });
    await until('it is submitted', async () => (await newest()).request_id !== earlier);
    const stopped = app.stop();
    assert.equal((await made(waiting)).status, 200);
    await stopped;
  });

  test('before its caller leaves is completed and charged once', async () => {
    const { available } = await service.balance(account);
    const leave = new AbortController();
    const earlier = (await newest()).request_id;
    const left = send(generations, call, { signal: leave.signal }).catch(() => 'left');
    await until('it is submitted', async () => (await newest()).request_id !== earlier);
    leave.abort();
    assert.equal(await left, 'left');
    await service.work();
    await service.wakeAll();
    await service.work();
    const { status, charged_usd_micro } = await newest();
    assert.deepEqual([status, charged_usd_micro], ['COMPLETED', '10000']);
    assert.equal((await service.balance(account)).available, available - 10_000n);
  });
});

inLong('many callers of one account wait only as long as slots are free', async () => {
  const { app, base } = await service.another({ FAREBOX_STREAMS_MAX: '1' });
  const earlier = (await newest()).request_id;
  // Not the call whose caller has just left, which would get that one's image.
  const first = send(generations, { ...call, prompt: 'a kite' }, { base });
  await until('it is submitted', async () => (await newest()).request_id !== earlier);
  const transfers = await service.transfers();
  assertRefused(await send(generations, call, { base }), 'rate_limited');
  assertRefused(await form(edit, { base }), 'rate_limited');
  assert.equal(await service.transfers(), transfers);
  assert.equal((await made(first)).status, 200);
  await app.stop();
});

inLong('the bytes of images are given back before the wait', async () => {
  // An account may hold a quarter of all bytes, which is too little for two such forms.
  const { app, base } = await service.another({
    FAREBOX_BODIES_MAX_BYTES: String(16 * 1024 * 1024),
  });
  const file = Buffer.concat([tinyPng, Buffer.alloc(3 * 1024 * 1024)]);
  const image = dataUrl(largePng);
  const replies: Promise<Reply>[] = [];
  for (let i = 0; i < 4; i++) {
    const earlier = (await newest()).request_id;
    replies.push(
      i % 2 === 0 ? form(edit, { base, file }) : send(edits, { ...edit, image }, { base }),
    );
    await until('it is submitted', async () => (await newest()).request_id !== earlier);
  }
  for (const reply of replies) assert.equal((await made(reply)).status, 200);
  await app.stop();
});

describe('is refused, and leaves nothing:', () => {
  const boundary = 'x';
  const typed = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  const part = (name: string, text: string, more = '') =>
    `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${text}\r\n`;
  const file = '; filename="a.png"';
  const good = part('model', 'fake/edit') + part('prompt', 'a cat');
  const png = part('image', tinyPng.toString('latin1'), file);
  const raw = (text: string, headers: Record<string, string> = typed): CallOptions => ({
    raw: Buffer.from(text, 'latin1'),
    headers,
  });
  const json = (text: string, type = 'application/json') => raw(text, { 'content-type': type });
  const cases: [
    name: string,
    path: string,
    options: CallOptions,
    code: ErrorCode,
    param?: string,
  ][] = [
    ['a form for a generation', generations, raw(good), 'unsupported_media_type'],
    ['no JSON', generations, json('{'), 'bad_request'],
    ['a list', generations, json('[]'), 'bad_request'],
    ['no body', edits, json(''), 'bad_request'],
    ['JSON of another type', edits, json('{}', 'text/plain'), 'unsupported_media_type'],
    ['no model', edits, json('{}'), 'bad_request', 'model'],
    ['no boundary', edits, raw(good, { 'content-type': 'multipart/form-data' }), 'bad_request'],
    ['half a form', edits, raw(good), 'bad_request'],
    ['a form of nothing', edits, raw('--x--'), 'bad_request', 'model'],
    ['a form without image', edits, raw(`${good}--x--`), 'bad_request', 'image'],
    ['a form with a model twice', edits, raw(`${good}${good}--x--`), 'bad_request', 'model'],
    ['an odd field', edits, raw(`${good}${part('a b', '1')}--x--`), 'bad_request', 'a b'],
    [
      'a field that no object may have',
      edits,
      raw(`${good}${part('__proto__', '1')}--x--`),
      'bad_request',
      '__proto__',
    ],
    [
      'a text of no UTF-8',
      edits,
      raw(`${good}${part('size', '\xff')}--x--`),
      'bad_request',
      'size',
    ],
    ['a NUL', edits, raw(`${good}${part('size', '\0')}--x--`), 'bad_request', 'size'],
    ['another file', edits, raw(`${good}${part('video', 'x', file)}--x--`), 'bad_request', 'video'],
    [
      'an image that is text',
      edits,
      raw(`${good}${part('image', 'hello', file)}--x--`),
      'unsupported_media_type',
      'image',
    ],
    [
      'an empty image',
      edits,
      raw(`${good}${part('image', '', file)}--x--`),
      'unsupported_media_type',
      'image',
    ],
    [
      'an SVG',
      edits,
      raw(`${good}${part('image', '<svg xmlns="http://www.w3.org/2000/svg"/>', file)}--x--`),
      'unsupported_media_type',
      'image',
    ],
    [
      'a good image and a bad mask',
      edits,
      raw(`${good}${png}${part('mask', 'x', file)}--x--`),
      'unsupported_media_type',
      'mask',
    ],
    [
      'two masks',
      edits,
      raw(`${good}${png}${part('mask', 'x', file).repeat(2)}--x--`),
      'bad_request',
      'mask',
    ],
    [
      'n that is no number',
      edits,
      raw(`${good}${png}${part('n', 'two')}--x--`),
      'bad_request',
      'n',
    ],
    [
      'a stream',
      edits,
      raw(`${good}${png}${part('stream', 'true')}--x--`),
      'bad_request',
      'stream',
    ],
    [
      'texts that are too large',
      edits,
      raw(`${good}${part('x', 'y'.repeat(1024 * 1024))}--x--`),
      'payload_too_large',
    ],
    [
      'an address that is not public',
      edits,
      json(JSON.stringify({ ...edit, image: 'http://10.0.0.1/a.png' })),
      'invalid_input',
      'image',
    ],
    [
      'a large image in JSON that is text',
      edits,
      json(JSON.stringify({ ...edit, image: dataUrl(Buffer.alloc(1024 * 1024, 'a')) })),
      'unsupported_media_type',
      'image',
    ],
    [
      'a large image in JSON that is broken',
      edits,
      json(JSON.stringify({ ...edit, image: `${dataUrl(largePng)}*` })),
      'invalid_input',
      'image',
    ],
    [
      'a large image beside a large text',
      edits,
      json(JSON.stringify({ ...edit, image: dataUrl(largePng), x: 'y'.repeat(1024 * 1024) })),
      'payload_too_large',
    ],
    [
      'large JSON for a generation',
      generations,
      json(JSON.stringify({ ...call, x: 'y'.repeat(1024 * 1024) })),
      'payload_too_large',
    ],
    [
      'an image that is nothing',
      edits,
      json(JSON.stringify({ ...edit, image: 'cat' })),
      'invalid_input',
      'image',
    ],
  ];
  for (const [name, path, options, code, param] of cases) {
    test(name, async () => {
      const earlier = await traces(service);
      const error = assertRefused(await send(path, undefined, options), code);
      if (param !== undefined) assert.equal(error.param, param);
      assert.deepEqual(await traces(service), earlier);
    });
  }

  test('JSON of more than 10 MiB, with the other ways to send images', async () => {
    const image = dataUrl(Buffer.alloc(8 * 1024 * 1024));
    const error = assertRefused(await send(edits, { ...edit, image }), 'payload_too_large');
    assert.equal(error.details.max_bytes, 10 * 1024 * 1024);
    assert.match(error.message, /multipart\/form-data.*20971520 bytes.*POST \/v1\/files/);
  });

  test('a body that is neither JSON nor a form, with both types', async () => {
    const types: Record<string, string>[] = [
      {},
      { 'content-type': 'application/x-www-form-urlencoded' },
    ];
    for (const headers of types) {
      const reply = await send(edits, undefined, { raw: Buffer.from('model=fake/edit'), headers });
      const { message } = assertRefused(reply, 'unsupported_media_type');
      assert.match(message, /multipart\/form-data.*application\/json/);
    }
    const { message } = assertRefused(
      await send(generations, undefined, { raw: Buffer.from('a'), headers: types[1]! }),
      'unsupported_media_type',
    );
    assert.doesNotMatch(message, /multipart/);
  });

  inLong('a form of more than 20 MiB, before it is read', async () => {
    const reply = await form(edit, { file: Buffer.alloc(20 * 1024 * 1024 + 1) });
    assertRefused(reply, 'payload_too_large');
  });
});
