import { after, beforeEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import Replicate, { validateWebhook, type Prediction } from 'replicate';
import { accept, images, type Behaviour } from '../../kit/fake.ts';
import { startFaulty, type FaultyProxy } from '../../kit/faulty.ts';
import { fakeCatalog, type TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { wake } from '../../kit/states.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { serveHttp, type LocalServer } from '../../lib/local-server.ts';

/** Replicate's stock client, with only its key and address set. */

const short = `
  - id: alone
    kind: image
    task: text-to-image
    name: Alone
    description: An id of one segment.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    cost_usd: "0.004"
    upstream_model: image
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a cat }
`;

interface Hook {
  headers: Record<string, string>;
  body: string;
}

let account: TestAccount;
let proxy: FaultyProxy;
let receiver: LocalServer;
let replicate: Replicate;
/** Method, path and status of each call that the client really made. */
let calls: string[];
const hooks: Hook[] = [];

const done: Behaviour = { poll: () => ({ state: 'done', result: images(2) }) };
const running: Behaviour = {
  start: (job, fake) => ({ ...accept(fake, job), poll_after_ms: 60_000 }),
  poll: () => ({ state: 'running', progress: 0.5, logs: ['mixing', '50%'], poll_after_ms: 60_000 }),
};

function connect({ key = account.key, base = service.base } = {}): Replicate {
  return new Replicate({
    auth: key,
    baseUrl: `${base}/replicate/v1`,
    useFileOutput: false,
    fetch: async (url, init) => {
      const path = new URL(String(url)).pathname.replace('/replicate/v1', '');
      const method = init?.method ?? 'GET';
      const reply = await fetch(url, init).catch((error: unknown) => {
        calls.push(`${method} broken`);
        throw error;
      });
      calls.push(`${method} ${path.replace(/[0-9a-f-]{36}/, 'ID')} ${reply.status}`);
      return reply;
    },
  });
}

after(async () => {
  await proxy.stop();
});
const { service } = withService(async (use) => {
  receiver = use(
    await serveHttp(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      hooks.push({
        headers: req.headers as Hook['headers'],
        body: Buffer.concat(chunks).toString(),
      });
      res.end();
    }),
  );
  return {
    catalog: fakeCatalog + short,
    env: { FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${receiver.port}` },
  };
});
before(async () => {
  proxy = await startFaulty(service.base);
});
beforeEach(async () => {
  account = await service.account();
  replicate = connect();
  calls = [];
  hooks.length = 0;
  service.fake.behave = done;
});

const input = { prompt: 'a lighthouse' };
const film = 'fake/film--text-to-video';

async function work(id: string): Promise<void> {
  await service.work();
  await wake(service, id);
  await service.work();
}

/** Runs the worker until the promise is settled. */
async function working<T>(promise: Promise<T>): Promise<T> {
  let isOver = false;
  void promise.finally(() => (isOver = true)).catch(() => {});
  while (!isOver) {
    await service.wakeAll();
    await service.work();
  }
  return promise;
}

interface Refusal {
  title: string;
  detail: string;
  status: number;
  invalid_fields?: { field: string }[];
  error: { code: string };
}

/** Asserts that the call throws the client's error with this status and code. */
async function refused(work: () => Promise<unknown>, status: number, code: string) {
  let thrown: any;
  await work().catch((error: unknown) => (thrown = error));
  assert.equal(thrown?.response?.status, status, String(thrown));
  const text = /: (\{.*\})\.$/s.exec(thrown.message)![1]!;
  const body: Refusal = JSON.parse(text);
  assert.deepEqual([body.status, body.error.code], [status, code], text);
  assert.ok(body.title.length > 0 && body.detail.length > 0);
  return body;
}

describe('run', () => {
  for (const mode of ['block', 'poll'] as const) {
    test(`brings the output by ${mode}, for its price, once`, async () => {
      const wait = mode === 'block' ? { mode } : { mode, interval: 10 };
      const urls = (await working(replicate.run('fake/image', { input, wait }))) as string[];
      assert.equal(urls.length, 2);
      for (const url of urls) assert.equal((await service.call('GET', url)).status, 200);
      const { available, reserved } = await service.balance(account);
      assert.deepEqual([available, reserved], [99_990_000n, 0n]);
      assert.equal(calls[0], 'POST /models/fake/image/predictions 201');
      if (mode === 'block') assert.equal(calls.length, 1);
    });
  }

  test('throws what a failed job says, and nothing is charged', async () => {
    service.fake.behave = {
      poll: () => ({ state: 'failed', code: 'upstream_rejected', message: 'No lighthouses.' }),
    };
    await assert.rejects(working(replicate.run('fake/image', { input })), /No lighthouses/);
    assert.deepEqual(await service.balance(account), { available: 100_000_000n, reserved: 0n });
  });

  test('a call that waits in vain is starting, whatever it is, so that the client polls', async () => {
    service.fake.behave = running;
    const create = replicate.predictions.create({ model: 'fake/image', input, wait: 1 });
    const made = await working(create);
    assert.equal(made.status, 'starting');
    const now = await replicate.predictions.get(made.id);
    assert.deepEqual([now.status, now.logs], ['processing', 'mixing\n50%']);
  });
});

describe('the life of a prediction', () => {
  test('has every field at each state', async () => {
    const made: any = await replicate.predictions.create({ model: 'fake/image', input });
    const { id, created_at } = made;
    const base = `${service.app.baseUrl.replace(/v1$/, '')}replicate/v1/predictions/${id}`;
    const queued = {
      id,
      model: 'fake/image',
      version: 'hidden',
      input,
      output: null,
      error: null,
      status: 'starting',
      logs: '',
      metrics: {},
      source: 'api',
      data_removed: false,
      created_at,
      started_at: null,
      completed_at: null,
      urls: { get: base, cancel: `${base}/cancel` },
    };
    assert.deepEqual(made, queued);
    await work(id);
    const over: any = await replicate.predictions.get(id);
    const { output, metrics, started_at, completed_at } = over;
    assert.deepEqual(over, {
      ...queued,
      status: 'succeeded',
      output,
      metrics,
      started_at,
      completed_at,
    });
    assert.equal(output.length, 2);
    assert.ok(metrics.predict_time >= 0 && metrics.total_time >= metrics.predict_time);
    // Both doors show one request.
    const { key } = account;
    const { body: card } = await service.call('GET', `/v1/requests/${id}`, { key });
    assert.deepEqual([card.status, card.charged_usd_micro], ['COMPLETED', '10000']);
    assert.deepEqual(card.output_urls, output);
  });

  test('a cancel of a queued one ends it, and costs nothing', async () => {
    const { id } = await replicate.predictions.create({ model: 'fake/image', input });
    for (let i = 0; i < 2; i++)
      assert.equal((await replicate.predictions.cancel(id)).status, 'canceled');
    await service.work();
    assert.equal(
      service.fake.starts.some(({ request_id }) => request_id === id),
      false,
    );
    assert.deepEqual(await service.balance(account), { available: 100_000_000n, reserved: 0n });
  });

  test('a running one goes on after a cancel', async () => {
    service.fake.behave = running;
    const { id } = await replicate.predictions.create({ model: 'fake/image', input });
    await work(id);
    assert.equal((await replicate.predictions.cancel(id)).status, 'processing');
    service.fake.behave = done;
    await work(id);
    assert.equal((await replicate.predictions.cancel(id)).status, 'succeeded');
  });

  test('lists pages of all images and videos, newest first', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 23; i++) {
      const model = i % 2 ? 'fake/image' : film;
      ids.push((await replicate.predictions.create({ model, input })).id);
    }
    await connect({ key: (await service.account()).key }).predictions.create({
      model: film,
      input,
    });
    const found: string[] = [];
    const pages: number[] = [];
    for await (const page of replicate.paginate<Prediction>(replicate.predictions.list)) {
      pages.push(page.length);
      found.push(...page.map(({ id }) => id));
    }
    assert.deepEqual(found, ids.toReversed());
    assert.deepEqual(pages, [20, 3]);
  });
});

describe('the names of a model', () => {
  const names: [name: string, asked: Record<string, string>, model_id: string][] = [
    ['two segments', { model: 'fake/image' }, 'fake/image'],
    ['more segments, joined', { model: film }, 'fake/film/text-to-video'],
    ['more segments, as they are', { model: 'fake/film/text-to-video' }, 'fake/film/text-to-video'],
    ['one segment', { model: 'models/alone' }, 'alone'],
    ['a name as version', { version: film }, 'fake/film/text-to-video'],
    ['an id as version', { version: 'fake/film/text-to-video' }, 'fake/film/text-to-video'],
  ];
  for (const [name, asked, model_id] of names) {
    test(`${name} lead to the model`, async () => {
      const made = await replicate.predictions.create({ ...asked, input } as any);
      assert.equal(made.model, asked.model ?? film);
      assert.equal(made.version, asked.version ?? 'hidden');
      const path = `/v1/requests/${made.id}`;
      const { body } = await account.get(path);
      assert.equal(body.model_id, model_id);
      const again = await replicate.predictions.get(made.id);
      assert.deepEqual([again.model, again.version], [made.model, made.version]);
    });
  }

  test('the version that models.get tells does too, alone and behind its name', async () => {
    const model = await replicate.models.get('fake', 'film--text-to-video');
    const { id } = model.latest_version!;
    assert.deepEqual([model.owner, model.name], ['fake', 'film--text-to-video']);
    for (const version of [id, `${film}:${id}`]) {
      const made = await replicate.predictions.create({ version, input });
      assert.deepEqual([made.model, made.version], [film, version]);
    }
    const picture = await replicate.models.get('fake', 'image');
    const ref = `fake/image:${picture.latest_version!.id}` as const;
    assert.equal(((await working(replicate.run(ref, { input }))) as string[]).length, 2);
  });
});

describe('a call that makes no prediction is refused, and leaves nothing', () => {
  type Create = Parameters<Replicate['predictions']['create']>[0];
  type Row = [
    name: string,
    asked: Record<string, unknown>,
    status: number,
    code: string,
    field?: string,
  ];
  const refusals: Row[] = [
    ['an unknown model', { model: 'fake/none' }, 404, 'unknown_model'],
    ['an unknown version', { version: 'a'.repeat(64) }, 422, 'unknown_model', 'version'],
    [
      'a version of another model',
      { version: `fake/image:${'a'.repeat(64)}` },
      422,
      'unknown_model',
      'version',
    ],
    ['a text model', { model: 'fake/chat' }, 400, 'use_chat_completions'],
    ['no input', { model: 'fake/image', input: undefined }, 422, 'invalid_input', 'input'],
    ['an input that is a text', { model: 'fake/image', input: 'a' }, 422, 'invalid_input', 'input'],
    ['a version that is a list', { version: ['fake/image'] }, 422, 'invalid_input', 'version'],
    ...[['done'], 'finished', { completed: true }].map((webhook_events_filter): Row => {
      const asked = { model: 'fake/image', webhook: 'https://example.com', webhook_events_filter };
      const name = `a filter of ${JSON.stringify(webhook_events_filter)}`;
      return [name, asked, 422, 'invalid_input', 'webhook_events_filter'];
    }),
    [
      'an input that does not fit',
      { model: 'fake/image', input: { prompt: 7 } },
      422,
      'invalid_input',
      'input.prompt',
    ],
    [
      'a length without a price',
      { model: film, input: { ...input, duration_seconds: 11 } },
      422,
      'unpriceable',
      'duration_seconds',
    ],
    [
      'a private webhook',
      { model: 'fake/image', webhook: 'http://10.0.0.1/x' },
      400,
      'bad_webhook_url',
    ],
  ];
  for (const [name, asked, status, code, field] of refusals) {
    test(name, async () => {
      const left = await traces(service);
      const create = () => replicate.predictions.create({ input, ...asked } as Create);
      const { invalid_fields } = await refused(create, status, code);
      assert.equal(invalid_fields?.[0]?.field, field);
      assert.deepEqual(await traces(service), left);
      assert.equal(calls.length, 1, 'the client repeated the call');
    });
  }

  test('too little balance', async () => {
    const poor = connect({ key: (await service.account({ usd: 0.001 })).key });
    const left = await traces(service);
    const create = () => poor.predictions.create({ model: 'fake/image', input });
    await refused(create, 402, 'insufficient_balance');
    assert.deepEqual(await traces(service), left);
  });
});

describe('a repeat', () => {
  test("of the client's own, after its connection was cut, is one prediction", async () => {
    proxy.calls.length = 0;
    const run = connect({ base: proxy.base }).predictions.create({
      model: 'fake/image',
      input,
      wait: 60,
    });
    const made = async () => (await account.get('/v1/requests')).body.data;
    await until('the first call waits', async () => (await made()).length === 1);
    proxy.cut();
    await until('the client calls again', () => proxy.calls.length > 1);
    const prediction = await working(run);
    assert.equal(prediction.status, 'succeeded');
    assert.deepEqual(calls, ['POST broken', 'POST /models/fake/image/predictions 201']);
    assert.deepEqual(
      (await made()).map((each: any) => each.request_id),
      [prediction.id],
    );
    assert.equal((await service.balance(account)).available, 99_990_000n);
    // The next such call is meant.
    const next = await replicate.predictions.create({ model: 'fake/image', input });
    assert.notEqual(next.id, prediction.id);
  });

  test('is not what two calls at once are', async () => {
    const create = () => replicate.predictions.create({ model: 'fake/image', input });
    const [one, other] = await Promise.all([create(), create()]);
    assert.notEqual(one!.id, other!.id);
  });
});

describe('a webhook', () => {
  const at = () => `http://127.0.0.1:${receiver.port}/hook`;
  test('gets the prediction once, which the client can validate', async () => {
    const { id } = await replicate.predictions.create({
      model: film,
      input,
      webhook: at(),
      webhook_events_filter: ['start', 'completed'],
    });
    await work(id);
    await service.wakeAll();
    await service.work();
    assert.equal(hooks.length, 1);
    const [{ headers, body }] = hooks as [Hook];
    const { key: secret } = await replicate.webhooks.default.secret.get();
    const sent = {
      id: headers['webhook-id']!,
      timestamp: headers['webhook-timestamp']!,
      signature: headers['webhook-signature']!,
    };
    assert.equal(await validateWebhook({ ...sent, body, secret }), true);
    assert.equal(await validateWebhook({ ...sent, body: `${body} `, secret }), false);
    assert.deepEqual(JSON.parse(body), await replicate.predictions.get(id));
    assert.equal(JSON.parse(body).model, film);
  });

  for (const [filter, sent] of [
    [['start', 'logs'], 0],
    ['start', 0],
    ['completed', 1],
  ] as [any, number][])
    test(`is sent ${sent} times at the filter ${JSON.stringify(filter)}`, async () => {
      const { id } = await replicate.predictions.create({
        model: 'fake/image',
        input,
        webhook: at(),
        webhook_events_filter: filter,
      });
      await work(id);
      await service.wakeAll();
      await service.work();
      assert.equal(hooks.length, sent);
    });
});

test('unknown fields and the time to cancel at are named, and a seed keeps its digits', async () => {
  const seed = '9223372036854775807';
  const body = `{"input":{"prompt":"a","seed":${seed}},"promt":1}`;
  const headers = { 'content-type': 'application/json', 'cancel-after': '1m' };
  const path = '/replicate/v1/models/fake/image/predictions';
  const sent = { key: account.key, raw: body, headers };
  const reply = await service.call('POST', path, sent);
  assert.equal(reply.status, 201, reply.text);
  assert.equal(reply.headers.get('x-ignored-fields'), 'promt, Cancel-After, seed');
  assert.match(reply.text, new RegExp(`"seed":${seed}`));
});

test('what belongs to another account is not found, and is not touched', async () => {
  const { id } = await replicate.predictions.create({ model: 'fake/image', input });
  const stranger = connect({ key: (await service.account()).key });
  const left = await traces(service);
  await refused(() => stranger.predictions.get(id), 404, 'not_found');
  await refused(() => stranger.predictions.cancel(id), 404, 'not_found');
  assert.deepEqual(await traces(service), left);
  assert.equal((await replicate.predictions.get(id)).status, 'starting');
});
