/**
 * OpenAI's Videos and Replicate's predictions by their stock clients, under faults: what was asked
 * for once is made and charged once. Every run prints its seed.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import OpenAI from 'openai';
import Replicate, { validateWebhook } from 'replicate';
import { mulberry } from '../chaos/upstream.ts';
import type { Behaviour } from '../kit/fake.ts';
import { startFaulty, type FaultyProxy, type Fault } from '../kit/faulty.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';
import { serveHttp, type LocalServer } from '../lib/local-server.ts';

const seed = Number(process.env.DOORS_SEED ?? Date.now() % 1_000_000);
const film = 'fake/film/text-to-video';
const prompt = 'a lighthouse at dusk';
/** The price of a video of the form, whatever the door. */
const price = 400_000n;

interface Client {
  /** Returns the id of the request. */
  create(idempotencyKey?: string): Promise<string>;
  /** The status as our own API names it. */
  status(id: string): Promise<string>;
  list(): AsyncIterable<string[]>;
  /** Ends a queued request. */
  stop(id: string): Promise<unknown>;
}

interface Door {
  name: string;
  connect(account: TestAccount, base: string): Client;
}

let service: Service;
let account: TestAccount;
let proxy: FaultyProxy;
let receiver: LocalServer;
const hooks: { headers: Record<string, string>; body: string }[] = [];

const bytes = readFileSync(join(import.meta.dirname, '../fixtures/media/film.mp4'));
const done: Behaviour = {
  poll: () => ({
    state: 'done',
    result: { media: [{ field: 'video', source: { bytes } }], fields: {} },
  }),
};

const states: Record<string, string> = {
  queued: 'IN_QUEUE',
  starting: 'IN_QUEUE',
  in_progress: 'IN_PROGRESS',
  processing: 'IN_PROGRESS',
  completed: 'COMPLETED',
  succeeded: 'COMPLETED',
  cancelled: 'CANCELLED',
  canceled: 'CANCELLED',
};

const videos: Door = {
  name: '/v1/videos',
  connect({ key }, base) {
    const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: key, maxRetries: 1 });
    return {
      async create(idempotencyKey) {
        const headers = { 'idempotency-key': idempotencyKey ?? null };
        const body = { model: film, prompt, seconds: '4' } as const;
        return (await openai.videos.create(body, { headers })).id;
      },
      async status(id) {
        const { status, error } = await openai.videos.retrieve(id);
        return states[error?.code ?? status] ?? status;
      },
      async *list() {
        for await (const page of (await openai.videos.list({ limit: 4 })).iterPages())
          yield page.data.map(({ id }) => id);
      },
      stop: (id) => openai.videos.delete(id),
    };
  },
};

const predictions: Door = {
  name: '/replicate/v1/predictions',
  connect({ key }, base) {
    const client = (idempotencyKey?: string) =>
      new Replicate({
        auth: key,
        baseUrl: `${base}/replicate/v1`,
        fetch: (url, init) => {
          const headers = new Headers(init?.headers);
          if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
          return fetch(url, { ...init, headers });
        },
      });
    const replicate = client();
    const input = { prompt, duration_seconds: 4, resolution: '720p' };
    return {
      async create(idempotencyKey) {
        return (await client(idempotencyKey).predictions.create({ model: film, input })).id;
      },
      async status(id) {
        const { status } = await replicate.predictions.get(id);
        return states[status] ?? status;
      },
      async *list() {
        for await (const page of replicate.paginate<any>(replicate.predictions.list))
          yield page.map(({ id }) => id);
      },
      stop: (id) => replicate.predictions.cancel(id),
    };
  },
};

before(async () => {
  receiver = await serveHttp(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    hooks.push({ headers: req.headers as any, body: Buffer.concat(chunks).toString() });
    res.writeHead(hooks.length % 3 === 0 ? 500 : 204).end();
  });
  service = await startService({
    env: { FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${receiver.port}`, FAREBOX_OPEN_JOBS: '1000' },
  });
  proxy = await startFaulty(service.base);
});
beforeEach(async () => {
  account = await service.account();
  service.fake.behave = done;
  proxy.spoil = () => undefined;
  hooks.length = 0;
});
after(async () => {
  await proxy.stop();
  await service.audit();
  await service.stop();
  await receiver.close();
});

/** Makes a call again as long as its client gives up, as a program does that needs the answer. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (let left = 20; ; left--) {
    try {
      return await call();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

async function runAll(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await service.wakeAll();
    await service.work();
  }
}

async function requestsOf({ key }: TestAccount): Promise<any[]> {
  return (await service.call('GET', '/v1/requests?limit=100', { key })).body.data;
}

for (const door of [videos, predictions]) {
  describe(door.name, () => {
    test('makes and charges each once, however its connections are cut', async (t) => {
      t.diagnostic(`DOORS_SEED=${seed}`);
      const random = mulberry(seed);
      const faults: (() => Fault)[] = [
        () => 'unsent',
        () => ({ cutAt: 0 }),
        () => ({ cutAt: Math.floor(random() * 600) }),
        () => ({ status: 429, headers: { 'retry-after': '0' } }),
      ];
      let cut = 0;
      proxy.spoil = () => {
        if (random() < 0.5) return undefined;
        cut++;
        return faults[Math.floor(random() * faults.length)]!();
      };
      const client = door.connect(account, proxy.base);
      const ids = await Promise.all(
        Array.from({ length: 20 }, (_, i) => insist(() => client.create(`key-${i}`))),
      );
      const stopped = ids.slice(0, 5);
      await Promise.all(stopped.map((id) => insist(() => client.stop(id))));
      await runAll();
      const ends = await Promise.all(ids.map((id) => insist(() => client.status(id))));
      assert.deepEqual(
        ends,
        ids.map((id) => (stopped.includes(id) ? 'CANCELLED' : 'COMPLETED')),
      );
      assert.ok(cut > 20, `only ${cut} calls were broken`);
      assert.equal(new Set(ids).size, 20);
      const made = await requestsOf(account);
      assert.deepEqual(made.map(({ request_id }) => request_id).sort(), ids.toSorted());
      const { available, reserved } = await service.balance(account);
      const charged = made.reduce((sum, each) => sum + BigInt(each.charged_usd_micro), 0n);
      assert.deepEqual([available, reserved], [100_000_000n - charged, 0n]);
      assert.ok(charged > 0n && charged <= 15n * price, String(charged));
    });

    test('two equal calls at once are two, and with one key one', async () => {
      const client = door.connect(account, service.base);
      const [one, other] = await Promise.all([client.create(), client.create()]);
      assert.notEqual(one, other);
      const same = await Promise.all(Array.from({ length: 6 }, () => client.create('one-key')));
      assert.equal(new Set(same).size, 1);
      assert.equal((await requestsOf(account)).length, 3);
      assert.equal((await service.balance(account)).reserved, 3n * price);
    });

    test('its list has each once, while jobs end and others are made', async () => {
      const client = door.connect(account, service.base);
      const ids: string[] = [];
      for (let i = 0; i < 26; i++) ids.push(await client.create());
      const found: string[] = [];
      for await (const page of client.list()) {
        found.push(...page);
        await client.create();
        await client.stop(ids[found.length % ids.length]!).catch(() => {});
        await runAll();
      }
      assert.deepEqual(found, ids.toReversed());
    });

    test("another account's id is as an unknown one, and nothing changes", async () => {
      const id = await door.connect(account, service.base).create();
      const other = await service.account();
      const stranger = door.connect(other, service.base);
      const earlier = await traces(service);
      for (const each of [
        id,
        id.toUpperCase(),
        'x',
        id.replace(/.$/, (c) => (c === '0' ? '1' : '0')),
      ])
        for (const act of [stranger.status, stranger.stop]) {
          const error: any = await act(each).then(
            () => assert.fail('it was answered'),
            (thrown: unknown) => thrown,
          );
          assert.equal(error.status ?? error.response?.status, 404, String(error));
        }
      assert.deepEqual(await traces(service), earlier);
    });
  });
}

describe('webhooks of both', () => {
  test('come once for each end, in the form of its door, whatever their receiver says', async () => {
    const url = `http://127.0.0.1:${receiver.port}/hook`;
    const replicate = new Replicate({ auth: account.key, baseUrl: `${service.base}/replicate/v1` });
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      const input = { prompt, duration_seconds: 4 };
      const create = { model: film, input, webhook: url };
      ids.push((await replicate.predictions.create(create)).id);
      const path = `/v1/videos?webhook_url=${encodeURIComponent(url)}`;
      const body = { model: film, prompt, seconds: '4' };
      ids.push((await service.call('POST', path, { key: account.key, body })).body.id);
    }
    await replicate.predictions.cancel(ids[0]!);
    await runAll();
    await until('all have come', async () => {
      await runAll();
      return hooks.length >= ids.length;
    });
    await runAll();
    const { key: secret } = await replicate.webhooks.default.secret.get();
    const told = new Map(
      hooks.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body)]),
    );
    assert.deepEqual([...told.keys()].sort(), ids.toSorted());
    assert.equal(hooks.length, ids.length, 'a webhook is sent once');
    for (const { headers, body } of hooks) {
      const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map(
        (name) => headers[`webhook-${name}`]!,
      ) as [string, string, string];
      assert.equal(await validateWebhook({ id, timestamp, signature, body, secret }), true);
    }
    const statuses = ids.map((id) => told.get(id).status);
    const pairs = ['succeeded', 'COMPLETED'];
    assert.deepEqual(statuses, ['canceled', ...pairs.slice(1), ...pairs, ...pairs, ...pairs]);
  });
});

describe('a wait of a prediction', () => {
  const waits: [prefer: string, status: number, state?: string][] = [
    ['wait=0', 201, 'starting'],
    ['wait=1', 201, 'starting'],
    ['respond-async', 201, 'starting'],
    ['respond-async, wait=1', 201, 'starting'],
    ['wait="1"', 201, 'starting'],
    ['wait=-1', 400],
    ['wait=1.5', 400],
    ['wait=soon', 400],
  ];
  for (const [prefer, status, state] of waits)
    test(`${prefer} is ${state ?? status}`, async () => {
      service.fake.behave = { poll: () => ({ state: 'running', poll_after_ms: 60_000 }) };
      const earlier = await traces(service);
      const reply = await service.call('POST', `/replicate/v1/models/${film}/predictions`, {
        key: account.key,
        body: { input: { prompt, duration_seconds: 4 } },
        headers: { prefer },
      });
      assert.equal(reply.status, status, reply.text);
      if (state === undefined) assert.deepEqual(await traces(service), earlier);
      else assert.equal(reply.body.status, state);
    });
});
