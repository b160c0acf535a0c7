import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { sql } from '../../src/lib/sql/sql.ts';
import { accept, tinyPng, type Behaviour } from '../kit/fake.ts';
import { startFaulty, type FaultyProxy } from '../kit/faulty.ts';
import { fakeCatalog, type TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';
import { wake } from '../kit/states.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';

/** The videos of OpenAI's stock client as requests of the queue. Only address and key are ours. */

const more = `
  - id: fake/ride
    kind: video
    task: image-to-video
    name: Fake ride
    description: Four, six or eight seconds, into a picture.
    price: { unit: sec, usd: "0.05" }
    max: 8
    max_unit: seconds
    cost_usd: "0.01"
    upstream_model: ride
    input_schema:
      type: object
      properties:
        prompt: { type: string }
        image_url: { type: string }
        duration_seconds: { enum: [4, 6, 8], default: 4 }
        resolution: { enum: [720p, 1080p] }
        aspect_ratio: { enum: ["16:9", "9:16"] }
        seed: { type: integer }
      required: [prompt, image_url]
    example: { prompt: a cat runs, image_url: "https://example.com/cat.png", duration_seconds: 4 }
  - id: fake/clip
    kind: video
    task: text-to-video
    name: Fake clip
    description: One price, one length, one size.
    price: { unit: request, usd: "0.10" }
    cost_usd: "0.01"
    upstream_model: clip
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a cat runs }
`;

const film = readFileSync(join(import.meta.dirname, '../fixtures/media/film.mp4'));
const filmed: Behaviour = {
  poll: () => ({
    state: 'done',
    result: { media: [{ field: 'video', source: { bytes: film } }], fields: {} },
  }),
};
const running: Behaviour = {
  start: (job, fake) => ({ ...accept(fake, job), poll_after_ms: 60_000 }),
  poll: () => ({ state: 'running', progress: 0.456, logs: [], poll_after_ms: 60_000 }),
};

let account: TestAccount;
let proxy: FaultyProxy;
let openai: OpenAI;
/** Method, path and status of each call that the client really made. */
let calls: string[];

function connect({ key = account.key, base = service.base } = {}): OpenAI {
  return new OpenAI({
    baseURL: `${base}/v1`,
    apiKey: key,
    fetch: async (...args) => {
      // The client asks this address how its runtime writes forms.
      if (String(args[0]).startsWith('data:')) return fetch(...args);
      const method = args[1]?.method?.toUpperCase() ?? 'GET';
      const reply = await fetch(...args).catch((error: unknown) => {
        calls.push(`${method} broken`);
        throw error;
      });
      calls.push(`${method} ${reply.status}`);
      return reply;
    },
  });
}

after(() => proxy.stop());
const { service } = withService({ catalog: fakeCatalog + more });
before(async () => void (proxy = await startFaulty(service.base)));
beforeEach(async () => {
  account = await service.account();
  openai = connect();
  calls = [];
  service.fake.behave = filmed;
});

const prompt = 'a lighthouse at dusk';
const model = 'fake/film/text-to-video';
const call = { model, prompt, seconds: '4' } as const;

async function work(id: string): Promise<void> {
  await service.work();
  await wake(service, id);
  await service.work();
}

async function card(id: string) {
  const { body } = await account.get(`/v1/requests/${id}`);
  return body;
}

/** Asserts that the call throws this error of the client, after so many real calls. */
async function refused(
  work: () => Promise<unknown>,
  status: number,
  code: string,
  param?: string | null,
): Promise<InstanceType<typeof OpenAI.APIError>> {
  let thrown: unknown;
  await work().catch((error: unknown) => (thrown = error));
  assert.ok(thrown instanceof OpenAI.APIError, String(thrown));
  assert.deepEqual([thrown.status, thrown.code], [status, code], thrown.message);
  if (param !== undefined) assert.equal(thrown.param, param);
  return thrown;
}

describe('the life of a video', () => {
  test('create, poll, download, as one request with its price', async () => {
    service.fake.behave = running;
    const { data: made, response } = await openai.videos.create(call).withResponse();
    const { id, created_at } = made;
    assert.ok(Math.abs(created_at - Date.now() / 1000) < 60);
    const queued = {
      id,
      object: 'video',
      model,
      status: 'queued',
      progress: 0,
      created_at,
      completed_at: null,
      expires_at: null,
      prompt,
      size: 'auto',
      seconds: '4',
      remixed_from_video_id: null,
      error: null,
    };
    assert.deepEqual({ ...made }, queued);
    assert.equal(response.headers.get('openai-poll-after-ms'), '2000');
    assert.equal(response.headers.get('x-should-retry'), null);
    assert.equal((await service.balance(account)).reserved, 400_000n);
    await work(id);
    const midway = await openai.videos.retrieve(id);
    assert.deepEqual({ ...midway }, { ...queued, status: 'in_progress', progress: 45 });
    await refused(() => openai.videos.downloadContent(id), 409, 'request_not_ready');
    service.fake.behave = filmed;
    await work(id);
    const { data: done, response: last } = await openai.videos.retrieve(id).withResponse();
    const { completed_at } = done;
    assert.deepEqual(
      { ...done },
      {
        ...queued,
        status: 'completed',
        progress: 100,
        completed_at,
        expires_at: completed_at! + 86_400,
        size: '64x48',
      },
    );
    assert.equal(last.headers.get('openai-poll-after-ms'), null);
    const content = await openai.videos.downloadContent(id);
    assert.equal(content.headers.get('content-type'), 'video/mp4');
    assert.deepEqual(Buffer.from(await content.arrayBuffer()), film);
    const { charged_usd_micro, input, model_id } = await card(id);
    assert.deepEqual(input, { prompt, duration_seconds: 4 });
    // Charged by what was delivered: two seconds.
    assert.deepEqual([charged_usd_micro, model_id], ['200000', model]);
    // The client repeats none of these: 409 while it runs is final for it.
    assert.deepEqual(calls, ['POST 200', 'GET 200', 'GET 409', 'GET 200', 'GET 200']);
  });

  test('a failure is told in the video, and costs nothing', async () => {
    service.fake.behave = {
      poll: () => ({ state: 'failed', code: 'upstream_rejected', message: 'No lighthouses.' }),
    };
    const { id } = await openai.videos.create(call);
    await work(id);
    const video = await openai.videos.retrieve(id);
    assert.deepEqual([video.status, video.error?.code], ['failed', 'upstream_rejected']);
    assert.match(video.error!.message, /No lighthouses/);
    await refused(() => openai.videos.downloadContent(id), 409, 'request_not_ready');
    assert.deepEqual(await service.balance(account), { available: 100_000_000n, reserved: 0n });
  });

  test('a video of another part is 404, and of a wrong name 400', async () => {
    const { id } = await openai.videos.create(call);
    await work(id);
    for (const variant of ['thumbnail', 'spritesheet'] as const)
      await refused(() => openai.videos.downloadContent(id, { variant }), 404, 'not_found');
    const poster = { variant: 'poster' as 'video' };
    await refused(() => openai.videos.downloadContent(id, poster), 400, 'bad_request', 'variant');
  });
});

describe('delete', () => {
  test('cancels a queued video, which then costs nothing', async () => {
    const { id } = await openai.videos.create(call);
    assert.deepEqual(
      { ...(await openai.videos.delete(id)) },
      { id, object: 'video.deleted', deleted: true },
    );
    const { status, error } = await openai.videos.retrieve(id);
    assert.deepEqual([status, error?.code], ['failed', 'cancelled']);
    await work(id);
    assert.equal(
      service.fake.starts.some(({ request_id }) => request_id === id),
      false,
    );
    assert.deepEqual(await service.balance(account), { available: 100_000_000n, reserved: 0n });
  });

  test('refuses a running one, which goes on', async () => {
    service.fake.behave = running;
    const { id } = await openai.videos.create(call);
    await work(id);
    await refused(() => openai.videos.delete(id), 409, 'not_cancellable');
    assert.deepEqual(calls, ['POST 200', 'DELETE 409']);
    service.fake.behave = filmed;
    await work(id);
    assert.equal((await openai.videos.retrieve(id)).status, 'completed');
  });

  test('takes the bytes of a finished one at once, at every address, and leaves card and charge', async () => {
    const { id } = await openai.videos.create(call);
    await work(id);
    const before = await card(id);
    const [link] = before.output_urls;
    assert.equal((await service.call('GET', link)).status, 200);
    for (let i = 0; i < 2; i++) assert.equal((await openai.videos.delete(id)).deleted, true);
    await refused(() => openai.videos.downloadContent(id), 410, 'expired');
    assert.equal((await service.call('GET', link)).status, 410);
    const { key } = account;
    assert.equal((await service.call('GET', `/v1/requests/${id}/response`, { key })).status, 410);
    await service.work();
    const [{ expires_at }] = await service.db.run<any>(sql`select expires_at from requests
      where id = ${id}`);
    assert.equal(expires_at, null);
    await refused(() => openai.videos.downloadContent(id), 410, 'expired');
    const after = await card(id);
    assert.deepEqual(after.output_urls, []);
    assert.deepEqual([after.status, after.charged_usd_micro], ['COMPLETED', '200000']);
    assert.equal((await openai.videos.retrieve(id)).status, 'completed');
    assert.equal((await service.balance(account)).available, 99_800_000n);
  });
});

describe('list', () => {
  test('pages through the videos only, in both orders', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.push((await openai.videos.create({ ...call, prompt: `video ${i}` })).id);
      const { key } = account;
      await service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: 'a cat' } });
    }
    const foreign = await service.account();
    await connect({ key: foreign.key }).videos.create(call);
    for (const order of ['asc', 'desc'] as const) {
      const found: string[] = [];
      for await (const video of openai.videos.list({ limit: 2, order })) found.push(video.id);
      assert.deepEqual(found, order === 'asc' ? ids : ids.toReversed());
    }
    const page = await openai.videos.list({ limit: 2 });
    assert.deepEqual(
      page.data.map(({ prompt: each }) => each),
      ['video 4', 'video 3'],
    );
    const { body } = await account.get('/v1/videos?limit=0');
    const none = { object: 'list', data: [], first_id: null };
    assert.deepEqual({ ...body, last_id: null }, { ...none, last_id: null, has_more: true });
    const { body: last } = await service.call('GET', `/v1/videos?after=${ids[0]}`, account);
    assert.deepEqual(last, { ...none, last_id: null, has_more: false });
    for (const query of ['limit=101', 'limit=-1', 'order=up', 'after=x']) {
      const { status } = await service.call('GET', `/v1/videos?${query}`, account);
      assert.equal(status, 400, query);
    }
  });
});

describe('a picture', () => {
  const ride = { model: 'fake/ride', prompt, seconds: '4' } as const;
  const png = () => toFile(tinyPng, 'cat.png', { type: 'image/png' });
  const data = `data:image/png;base64,${tinyPng.toString('base64')}`;
  const pictures: Record<string, () => Promise<any>> = {
    'a file of the form': png,
    'an address in an object': async () => ({ image_url: data }),
    'a file id in an object': async () => ({ file_id: await uploaded() }),
  };
  async function uploaded(): Promise<string> {
    const type = { 'content-type': 'image/png' };
    const file = { key: account.key, raw: tinyPng, headers: type };
    return (await service.call('POST', '/v1/files', file)).body.file_id;
  }
  for (const [name, picture] of Object.entries(pictures)) {
    test(`${name} becomes the model's own input`, async () => {
      const input_reference = await picture();
      const { id } = await openai.videos.create({ ...ride, input_reference });
      const { input } = await card(id);
      const { image_url, ...others } = input;
      assert.deepEqual(others, { prompt, duration_seconds: 4 });
      assert.match(
        image_url,
        name.includes('address') ? /^data:image\/png/ : /^file_[0-9a-f]{32}$/,
      );
      await work(id);
      assert.equal((await openai.videos.retrieve(id)).status, 'completed');
    });
  }

  test('of JSON is understood too', async () => {
    const body = { ...ride, seconds: 6, input_reference: { image_url: data } };
    const reply = await account.post('/v1/videos', body);
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.body.seconds, '6');
  });

  test('that makes no video is not kept', async () => {
    const poor = await service.account({ usd: 0.01 });
    const left = await traces(service);
    const input_reference = await png();
    const make = () => connect({ key: poor.key }).videos.create({ ...ride, input_reference });
    await refused(make, 402, 'insufficient_balance');
    assert.deepEqual(await traces(service), left);
  });
});

describe('sizes, seeds and unknown fields', () => {
  const picture = 'https://93.184.215.14/cat.png';
  const ride = { model: 'fake/ride', prompt, input_reference: { image_url: picture } } as const;
  for (const length of [{ duration: 8 }, { duration: '8' }, { duration_seconds: 8 }])
    test(`${JSON.stringify(length)} is the length of the model's own name`, async () => {
      const video = await openai.videos.create({ ...ride, ...length } as any);
      assert.equal(video.seconds, '8');
      await service.work();
      const { input } = service.fake.starts.find(({ request_id }) => request_id === video.id)!;
      assert.deepEqual([input.duration_seconds, input.duration], [8, undefined]);
    });

  test('a size becomes the fields of the model, and is shown as it was sent', async () => {
    const video = await openai.videos.create({ ...ride, seconds: '8', size: '720x1280' });
    assert.deepEqual([video.size, video.seconds], ['720x1280', '8']);
    await service.work();
    const { input } = service.fake.starts.find(({ request_id }) => request_id === video.id)!;
    assert.deepEqual(
      [input.resolution, input.aspect_ratio, input.duration_seconds, input.size],
      ['720p', '9:16', 8, undefined],
    );
  });

  test('a seed of 64 bits keeps its digits, in a form too', async () => {
    const seed = '9223372036854775807';
    const { id } = await openai.videos.create({ ...ride, seed } as any);
    const { text } = await account.get(`/v1/requests/${id}`);
    assert.match(text, /"seed":9223372036854775807[,}]/);
  });

  test('an unknown field is named, and metadata stays with the request', async () => {
    const body = { ...call, promt: 'x', metadata: { order: '7' } };
    const made = await openai.videos.create(body as any).withResponse();
    assert.equal(made.response.headers.get('x-ignored-fields'), 'promt');
    const reply = await account.post('/v1/videos', body);
    assert.equal(reply.headers.get('x-ignored-fields'), 'promt');
    for (const id of [made.data.id, reply.body.id])
      assert.deepEqual((await card(id)).metadata, { order: '7' });
  });
});

describe('a call that makes no video is refused, and leaves nothing', () => {
  const refusals: [
    name: string,
    body: Record<string, unknown>,
    status: number,
    code: string,
    param: string | null,
  ][] = [
    ['an unknown model', { model: 'sora-2' }, 400, 'unknown_model', 'model'],
    ['no model', { model: undefined }, 400, 'bad_request', 'model'],
    ['a text model', { model: 'fake/chat' }, 400, 'use_chat_completions', 'model'],
    ['an image model', { model: 'fake/image' }, 400, 'bad_request', 'model'],
    ['no prompt', { prompt: undefined }, 400, 'invalid_input', 'prompt'],
    [
      'no picture for a model that needs one',
      { model: 'fake/ride' },
      400,
      'bad_request',
      'input_reference',
    ],
    [
      'a picture for a model that takes none',
      { input_reference: { file_id: 'file_x' } },
      400,
      'bad_request',
      'input_reference',
    ],
    ['a length that is no number', { seconds: 'four' }, 400, 'bad_request', 'seconds'],
    ['a length below zero', { seconds: '-4' }, 400, 'bad_request', 'seconds'],
    [
      'a length that the model does not make',
      {
        model: 'fake/ride',
        seconds: '12',
        input_reference: { image_url: 'https://93.184.215.14/a.png' },
      },
      400,
      'invalid_input',
      'seconds',
    ],
    ['a length beyond the price', { seconds: '11' }, 400, 'unpriceable', 'seconds'],
    ['a length of a model with one length', { model: 'fake/clip' }, 400, 'bad_request', 'seconds'],
    ['two lengths', { duration_seconds: '5' }, 400, 'bad_request', 'seconds'],
    ['two lengths in names of others', { duration: 5 }, 400, 'bad_request', 'seconds'],
    ['a size that is none', { size: 'large' }, 400, 'bad_request', 'size'],
    [
      'a size that the model cannot make',
      {
        model: 'fake/ride',
        size: '4096x4096',
        input_reference: { image_url: 'https://93.184.215.14/a.png' },
      },
      400,
      'invalid_input',
      'size',
    ],
  ];
  for (const [name, body, status, code, param] of refusals) {
    test(name, async () => {
      const left = await traces(service);
      await refused(() => openai.videos.create({ ...call, ...body } as any), status, code, param);
      assert.deepEqual(await traces(service), left);
      assert.deepEqual(calls, [`POST ${status}`]);
    });
  }

  test('too little balance, which the client does not repeat', async () => {
    const poor = await service.account({ usd: 0.01 });
    const left = await traces(service);
    await refused(
      () => connect({ key: poor.key }).videos.create(call),
      402,
      'insufficient_balance',
    );
    assert.deepEqual(await traces(service), left);
    assert.deepEqual(calls, ['POST 402']);
  });
});

describe('a repeat', () => {
  test('with its Idempotency-Key is one video, and with another body refused', async () => {
    const options = { headers: { 'Idempotency-Key': 'once' } };
    const first = await openai.videos.create(call, options);
    const again = await openai.videos.create(call, options).withResponse();
    assert.equal(again.data.id, first.id);
    assert.equal(again.response.headers.get('idempotent-replayed'), 'true');
    const other = { ...call, prompt: 'another' };
    await refused(() => openai.videos.create(other, options), 409, 'idempotency_conflict');
    assert.equal((await service.balance(account)).reserved, 400_000n);
  });

  test("of the client's own, after its reply was lost, is one video", async () => {
    // The reply waits for a lock until the connection is cut.
    const { left, over } = await cutDuring();
    proxy.calls.length = 0;
    const made = connect({ base: proxy.base }).videos.create(call);
    await left().finally(over);
    const video = await made;
    assert.deepEqual(calls, ['POST broken', 'POST 200']);
    const { body } = await account.get('/v1/requests');
    assert.deepEqual(
      body.data.map((each: any) => each.request_id),
      [video.id],
    );
    assert.equal((await service.balance(account)).reserved, 400_000n);
    // The next such call is meant.
    const next = await openai.videos.create(call);
    assert.notEqual(next.id, video.id);
  });

  /** Holds the account's lock, so that the next submit waits; `left` cuts its connection. */
  async function cutDuring() {
    const locked = Promise.withResolvers<void>();
    const free = Promise.withResolvers<void>();
    const held = service.db.tx(async (tx) => {
      await tx.run(sql`select from balances where account_id = ${account.account_id} for update`);
      locked.resolve();
      await free.promise;
    });
    await locked.promise;
    const waiting = () =>
      service.db.run<{ n: bigint }>(sql`select count(*) as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`);
    return {
      async left() {
        await until('the submit waits', async () => Number((await waiting())[0]!.n) > 0);
        proxy.cut();
        await until('the client calls again', () => proxy.calls.length > 1);
      },
      over: () => {
        free.resolve();
        return held;
      },
    };
  }
});

describe('what belongs to another account', () => {
  test('is not found by any call, and is not touched', async () => {
    const { id } = await openai.videos.create(call);
    const left = await traces(service);
    const stranger = connect({ key: (await service.account()).key }).videos;
    const created = await traces(service);
    for (const made of [
      () => stranger.retrieve(id),
      () => stranger.downloadContent(id),
      () => stranger.delete(id),
    ])
      await refused(made, 404, 'not_found');
    assert.deepEqual(await traces(service), created);
    assert.equal(left.open_requests, created.open_requests);
    assert.equal((await openai.videos.retrieve(id)).status, 'queued');
  });

  test('a request that is no video is not found either', async () => {
    const body = { prompt: 'a cat' };
    const made = await account.post('/v1/queue/fake/image', body);
    await refused(() => openai.videos.retrieve(made.body.request_id), 404, 'not_found');
    await refused(() => openai.videos.delete(made.body.request_id), 404, 'not_found');
    assert.equal((await card(made.body.request_id)).status, 'IN_QUEUE');
  });
});

describe('calls that are not offered', () => {
  const video = { id: '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10' };
  const missing: Record<string, () => Promise<unknown>> = {
    remix: () => openai.videos.remix(video.id, { prompt }),
    edits: () => openai.videos.edit({ prompt, video }),
    extensions: () => openai.videos.extend({ prompt, seconds: '4', video }),
    characters: () => openai.videos.getCharacter('x'),
  };
  for (const [name, make] of Object.entries(missing)) {
    test(`${name} is 404 and named`, async () => {
      const { message } = await refused(make, 404, 'not_found');
      assert.match(message, new RegExp(`/v1/videos/.*${name}.*is not offered`));
    });
  }
});
