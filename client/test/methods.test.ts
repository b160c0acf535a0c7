import assert from 'node:assert/strict';
import { createReadStream, openAsBlob, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Farebox, FareboxError, file, type Job, type Status } from '../src/index.ts';
import { createKey } from '../../server/test/kit/keys.ts';
import { completion, images, tinyPng } from '../../server/test/kit/fake.ts';
import { fakeCatalog, startService, type TestAccount } from '../../server/test/kit/service.ts';
import { before, withService } from '../../server/test/kit/with-service.ts';
import { delta, openTap, usageChunk, type Tap } from '../../server/test/kit/tap.ts';
import { until } from '../../server/test/kit/until.ts';

/** Every method of the client against the real service. */

let farebox: Farebox;
const { service, account } = withService({ running: true });
before(async () => {
  farebox = clientOf(account);
});

const model = 'fake/image';
const prompt = 'a cat';
const png = new Uint8Array(tinyPng);

function clientOf({ key }: TestAccount): Farebox {
  return new Farebox({ apiKey: key, baseUrl: `${service.base}/v1` });
}

async function managingKey(): Promise<string> {
  const { account_id } = account;
  return (await createKey(service.db, { account_id, name: 'manager', scope: 'keys' })).key;
}

/** Holds jobs in progress until the test lets them go. */
function hold(): () => void {
  let held = true;
  service.fake.behave = {
    poll: () =>
      held
        ? { state: 'running', progress: 0.5, poll_after_ms: 20 }
        : { state: 'done', result: images(1) },
  };
  return () => {
    held = false;
  };
}

async function codeOf(call: Promise<unknown>): Promise<FareboxError> {
  const error = await call.then(
    () => assert.fail('it was not refused'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof FareboxError, String(error));
  return error;
}

/** A test for each method, by the name that a caller writes. */
const methods: Record<string, () => Promise<void>> = {
  async 'models.list'() {
    const { body } = await service.call('GET', '/v1/models');
    assert.deepEqual(await farebox.models.list(), body.data);
  },

  async 'models.get'() {
    const one = await farebox.models.get('fake/film/text-to-video');
    assert.equal(one.id, 'fake/film/text-to-video');
    assert.equal((await codeOf(farebox.models.get('no/such'))).code, 'not_found');
    assert.equal((await codeOf(farebox.models.get('../requests'))).code, 'bad_argument');
  },

  async balance() {
    const other = await service.account({ usd: 3 });
    const told = await clientOf(other).balance();
    assert.equal(told.available_usd_micro, 3_000_000n);
    assert.equal(told.reserved_usd_micro, 0n);
    assert.equal(told.key.limit_usd_micro, null);
  },

  async usage() {
    const own = await service.account();
    const metadata = { customer: '42', paid_usd_micro: '7' };
    const job = await clientOf(own).submit(model, { prompt }, { metadata });
    await job.result();
    const by = ['model', 'metadata.customer', 'metadata.paid_usd_micro'];
    const { data, next_cursor } = await clientOf(own).usage({ by, metadata: { customer: '42' } });
    assert.deepEqual(
      data.map((line) => [line.model_id, line.metadata, line.completed, line.charged_usd_micro]),
      [[model, metadata, 1, 10_000n]],
    );
    assert.equal(next_cursor, null);
    assert.equal((await codeOf(farebox.usage({ by: 'week' }))).code, 'bad_request');
  },

  async 'deposits.addresses'() {
    assert.deepEqual(await farebox.deposits.addresses(), []);
  },

  async 'deposits.list'() {
    assert.deepEqual(await farebox.deposits.list({ limit: 1 }), { data: [], next_cursor: null });
    assert.equal((await codeOf(farebox.deposits.list({ limit: 101 }))).code, 'bad_request');
  },

  async 'keys.create'() {
    const { keys } = clientOf({ ...account, key: await managingKey() });
    const made = await keys.create({ name: 'x', monthly_limit_usd_micro: 20_000n, rpm: 5 });
    assert.deepEqual([made.monthly_limit_usd_micro, made.rpm, made.scope], [20_000n, 5, 'spend']);
    const job = await clientOf({ ...account, key: made.key }).submit(model, { prompt });
    await job.result();
    assert.equal((await codeOf(farebox.keys.create({ name: 'y' }))).code, 'forbidden');
  },

  async 'keys.list'() {
    const { keys } = clientOf({ ...account, key: await managingKey() });
    const { data, next_cursor } = await keys.list({ limit: 1, state: 'all' });
    assert.equal(data[0]!.scope, 'keys');
    const next = await keys.list({ limit: 1, cursor: next_cursor! });
    assert.notEqual(next.data[0]!.key_id, data[0]!.key_id);
  },

  async 'keys.get'() {
    const { keys } = clientOf({ ...account, key: await managingKey() });
    const { key_id, spent_usd_micro } = await keys.get(account.key_id);
    assert.deepEqual([key_id, typeof spent_usd_micro], [account.key_id, 'bigint']);
    assert.equal((await codeOf(keys.get('..'))).code, 'bad_argument');
  },

  async 'keys.change'() {
    const { keys } = clientOf({ ...account, key: await managingKey() });
    const { key_id } = await keys.create({ name: 'x', rpm: 5 });
    const settings = { rpm: null, name: 'z', expires_at: new Date(Date.now() + 86_400_000) };
    const changed = await keys.change(key_id, settings);
    assert.deepEqual(
      [changed.rpm, changed.name, changed.expires_at],
      [null, 'z', settings.expires_at.toISOString()],
    );
  },

  async 'keys.revoke'() {
    const { keys } = clientOf({ ...account, key: await managingKey() });
    const made = await keys.create({ name: 'x' });
    assert.equal((await keys.revoke(made.key_id)).state, 'revoked');
    assert.equal((await keys.revoke(made.key_id)).state, 'revoked');
    const gone = clientOf({ ...account, key: made.key });
    assert.equal((await codeOf(gone.balance())).code, 'unauthorized');
  },

  async estimate() {
    const transfers = await service.transfers();
    const told = await farebox.estimate(model, {
      prompt,
      num_images: 3,
      image_url: new Blob([png]),
    });
    assert.equal(told.price_usd_micro, 30_000n);
    assert.equal(told.breakdown[0]!.amount_usd_micro, 30_000n);
    const film = await farebox.estimate('fake/film/text-to-video', { prompt });
    assert.deepEqual(film.unit_price_by_resolution_usd_micro, {
      '480p': 50_000n,
      '720p': 100_000n,
    });
    assert.equal(await service.transfers(), transfers, 'nothing is reserved');
    assert.ok(!filesOf(account).length, 'nothing is uploaded');
  },

  async submit() {
    const idempotencyKey = 'submit-once';
    const job = await farebox.submit(model, { prompt }, { idempotencyKey });
    assert.equal(job.submitted!.quoted_usd_micro, 10_000n);
    const again = await farebox.submit(model, { prompt }, { idempotencyKey });
    assert.equal(again.requestId, job.requestId);
    const other = await farebox.submit(model, { prompt });
    assert.notEqual(other.requestId, job.requestId, 'without a key of its own it is another one');
  },

  async run() {
    const seen: string[] = [];
    const told: (Job | Status)[] = [];
    const { requestId, output, card } = await farebox.run(
      model,
      { prompt },
      {
        maxUsdMicro: 10_000n,
        onSubmit: (job) => void (told.push(job), seen.push('submitted')),
        onStatus: (status) => void (told.push(status), seen.push(status.status)),
      },
    );
    assert.equal(seen[0], 'submitted', 'the id comes before any wait');
    assert.equal(seen.at(-1), 'COMPLETED');
    assert.equal((told[0] as Job).requestId, requestId);
    assert.equal(output.images!.length, 1);
    assert.equal(card.charged_usd_micro, 10_000n);

    const transfers = await service.transfers();
    const dear = await codeOf(farebox.run(model, { prompt }, { maxUsdMicro: 9_999n }));
    assert.equal(dear.code, 'price_above_limit');
    assert.equal(dear.details.price_usd_micro, 10_000n);
    assert.match(dear.message, /\$0\.01\b.*\$0\.009999\b/);
    assert.equal(await service.transfers(), transfers, 'nothing is reserved');

    service.fake.behave = {
      poll: () => ({ state: 'failed', code: 'upstream_failed', message: 'out of paint' }),
    };
    const failed = await codeOf(farebox.run(model, { prompt }));
    service.fake.behave = {};
    assert.equal(failed.code, 'request_failed');
    assert.equal(failed.details.error!.code, 'upstream_failed');
    assert.match(failed.message, /out of paint/);
    assert.equal((await farebox.requests.get(failed.requestId!)).charged_usd_micro, 0n);
  },

  async attach() {
    const release = hold();
    const { requestId } = await farebox.submit(model, { prompt });
    // Like another process that has read the id from a disk.
    const job = clientOf(account).attach(requestId);
    assert.equal(job.submitted, undefined);
    const waiting = job.result();
    release();
    assert.equal((await waiting).requestId, requestId);
    assert.equal((await job.wait()).status, 'COMPLETED', 'waiting again is no fault');
    assert.throws(() => farebox.attach('../models'), { code: 'bad_argument' });
  },

  async status() {
    const release = hold();
    const job = await farebox.submit(model, { prompt });
    await until('it runs', async () => (await job.status()).status === 'IN_PROGRESS');
    const waiting = farebox.status(job.requestId, { waitSeconds: 30 });
    release();
    assert.equal((await waiting).status, 'COMPLETED');
  },

  async watch() {
    const release = hold();
    const { requestId } = await farebox.submit(model, { prompt });
    const seen: Status[] = [];
    for await (const status of farebox.watch(requestId)) {
      seen.push(status);
      if (status.progress === 0.5) release();
    }
    assert.equal(seen.at(-1)!.status, 'COMPLETED');
    const texts = seen.map((status) => JSON.stringify(status));
    assert.equal(new Set(texts).size, texts.length, 'nothing is told twice');
    for await (const status of farebox.watch(requestId)) assert.equal(status.status, 'COMPLETED');
    const absent = farebox.watch('01890000-0000-7000-8000-000000000000');
    assert.equal((await codeOf(absent.next())).code, 'not_found');
  },

  async response() {
    const release = hold();
    const { requestId } = await farebox.submit(model, { prompt });
    const early = await codeOf(farebox.response(requestId));
    assert.equal(early.code, 'request_not_ready');
    release();
    await farebox.attach(requestId).wait();
    assert.equal((await farebox.response(requestId)).seed, 7);
  },

  async cancel() {
    // A service without a worker, so that everything stays in the queue.
    const catalog = fakeCatalog.replace('    max: 4\n', '    max: 4\n    on_cancel: full\n');
    const idle = await startService({ catalog });
    const { key } = await idle.account();
    const mine = new Farebox({ apiKey: key, baseUrl: `${idle.base}/v1` });
    const { requestId } = await mine.submit(model, { prompt });
    const cancelled = { request_id: requestId, status: 'CANCELLED' };
    assert.deepEqual(await mine.cancel(requestId), cancelled);
    assert.deepEqual(await mine.cancel(requestId, { running: true }), cancelled);
    const error = await codeOf(mine.attach(requestId).result());
    assert.match(error.message, /Nothing was charged/);
    assert.equal((await mine.models.get(model)).on_cancel, 'full');
    idle.fake.behave.poll = () => ({ state: 'running' });
    const job = await mine.submit(model, { prompt });
    await idle.work();
    assert.equal((await codeOf(job.cancel())).code, 'not_cancellable');
    const { status, cancel_requested_at } = await job.cancel({ running: true });
    assert.deepEqual(
      [status, cancel_requested_at],
      ['IN_PROGRESS', (await job.status()).cancel_requested_at],
    );
    const stopped = { state: 'stopped', code: 'upstream_failed', message: 'x' } as const;
    idle.fake.cancel = async () => void (idle.fake.behave.poll = () => stopped);
    for (let i = 0; i < 3; i++) {
      await idle.wakeAll();
      await idle.work();
    }
    const charged = await codeOf(job.result());
    assert.deepEqual(
      [charged.code, /Its card has the charge/.test(charged.message)],
      ['request_cancelled', true],
    );
    assert.equal((await mine.requests.get(job.requestId)).charged_usd_micro, 10_000n);
    await idle.stop();
    assert.equal(error.code, 'request_cancelled');
    assert.equal(error.requestId, requestId);
    const { requestId: done } = await farebox.run(model, { prompt });
    const late = await codeOf(farebox.cancel(done));
    assert.deepEqual([late.code, late.requestId], ['not_cancellable', done]);
  },

  async 'requests.list'() {
    const mine = clientOf(await service.account());
    for (let i = 0; i < 3; i++) await mine.run(model, { prompt });
    const { data, next_cursor } = await mine.requests.list({ limit: 2, from: new Date(0) });
    assert.equal(data.length, 2);
    assert.equal(data[0]!.charged_usd_micro, 10_000n);
    const rest = await mine.requests.list({ limit: 2, cursor: next_cursor! });
    assert.deepEqual([rest.data.length, rest.next_cursor], [1, null]);
    assert.deepEqual((await mine.requests.list({ status: 'FAILED' })).data, []);
  },

  async 'requests.all'() {
    const mine = clientOf(await service.account());
    const made = [];
    for (let i = 0; i < 3; i++) made.unshift((await mine.run(model, { prompt })).requestId);
    const found = [];
    for await (const { request_id } of mine.requests.all({ limit: 1 })) found.push(request_id);
    assert.deepEqual(found, made);
  },

  async 'requests.get'() {
    const { requestId, card } = await farebox.run(model, { prompt, quoted_usd_micro: '1' });
    const read = await farebox.requests.get(requestId);
    assert.deepEqual({ ...read, output_urls: [] }, { ...card, output_urls: [] });
    assert.equal(read.quoted_usd_micro, 10_000n);
    assert.equal(read.input.quoted_usd_micro, '1', 'what a model takes is left as it is');
  },

  async 'requests.deleteOutput'() {
    const { requestId } = await farebox.run(model, { prompt });
    for (const _ of ['once', 'twice']) {
      const deleted = { request_id: requestId, deleted: true };
      assert.deepEqual(await farebox.requests.deleteOutput(requestId), deleted);
    }
    const card = await farebox.requests.get(requestId);
    assert.deepEqual([card.status, card.charged_usd_micro], ['COMPLETED', 10_000n]);
  },

  async 'requests.refused'() {
    const mine = clientOf(await service.account());
    await assert.rejects(mine.submit(model, { prompt: 7 }), { code: 'invalid_input' });
    const refused = async () => (await mine.requests.refused({ limit: 5 })).data;
    await until('it is written down', async () => (await refused()).length === 1);
    const [first] = await refused();
    assert.deepEqual([first!.code, first!.status, first!.model_id], ['invalid_input', 400, model]);
    assert.deepEqual((await mine.requests.refused({ code: 'rate_limited' })).data, []);
  },

  async upload() {
    const path = join(service.dir, 'cat.png');
    writeFileSync(path, png);
    const seen: unknown[] = [];
    const stream = () => new Blob([png]).stream() as ReadableStream<Uint8Array>;
    const inTwo = async function* () {
      yield png.subarray(0, 9);
      yield png.subarray(9);
    };
    const whole = [
      path,
      file(path),
      png,
      tinyPng,
      png.buffer,
      new Blob([png]),
      new DataView(png.buffer),
    ];
    const sources = [...whole, stream(), createReadStream(path), inTwo()];
    for (const source of sources) {
      const onProgress = (progress: unknown) => void seen.push(progress);
      const { size, content_type } = await farebox.upload(source, { onProgress });
      assert.deepEqual([size, content_type], [png.length, 'image/png']);
      const total = whole.includes(source as Blob) ? png.length : null;
      assert.deepEqual(seen.at(-1), { sent: png.length, total });
    }
    const text = await farebox.upload(new Blob(['grüße']));
    assert.equal(text.content_type, 'text/plain');
    const missing = await codeOf(farebox.upload('./no-such-file.png'));
    assert.equal(missing.code, 'bad_argument');
    assert.match(missing.message, /no-such-file\.png/);
    const folder = await codeOf(farebox.upload(service.dir));
    assert.deepEqual([folder.code, folder.param], ['bad_argument', 'file']);
    for (const none of [{}, 5, null, undefined, [png], new Map(), Promise.resolve(png)]) {
      const error = await codeOf(farebox.upload(none as unknown as Blob));
      assert.deepEqual([error.code, error.param], ['bad_argument', 'file']);
    }
    const odd = await codeOf(farebox.upload(new Uint8Array([1, 0, 2])));
    assert.equal(odd.code, 'unsupported_media_type');
  },

  async download() {
    const { output, requestId } = await farebox.run(model, { prompt });
    const { url } = output.images![0]!;
    const bytes = new Uint8Array(await (await farebox.download(url)).arrayBuffer());
    assert.deepEqual(bytes, png);
    const to = join(service.dir, 'out.png');
    const seen: { sent: number }[] = [];
    const blob = await farebox.download(url, { to, onProgress: (p) => void seen.push(p) });
    assert.deepEqual([blob.size, blob.type], [png.length, 'image/png']);
    assert.deepEqual(new Uint8Array(readFileSync(to)), png);
    assert.equal(seen.at(-1)!.sent, png.length);
    const plain = `${service.base}/v1/requests/${requestId}/output/0`;
    assert.equal((await farebox.download(plain)).size, png.length, 'the key opens it as well');
    const there = readdirSync(service.dir);
    const forged = url.replace(/sig=(.)/, (_, first) => `sig=${first === 'A' ? 'B' : 'A'}`);
    const wrong = await codeOf(farebox.download(forged, { to }));
    assert.equal(wrong.code, 'unauthorized');
    assert.deepEqual(readdirSync(service.dir), there, 'no half of a file stays');
    assert.deepEqual(new Uint8Array(readFileSync(to)), png, 'what was there before is untouched');
    const nowhere = await codeOf(farebox.download(url, { to: join(to, 'x.png') }));
    assert.equal(nowhere.code, 'bad_argument');
  },

  async 'chat.create'() {
    const call = { model: 'fake/chat', messages: [{ role: 'user' as const, content: 'hi' }] };
    service.fake.behave = {
      chat: () => ({
        outcome: 'reply',
        reply: completion('{"a_usd_micro":"1"}', { prompt_tokens: 5, completion_tokens: 2 }),
      }),
    };
    const reply = await farebox.chat.create(call);
    assert.equal(reply.choices[0]!.message.content, '{"a_usd_micro":"1"}');
    assert.equal(reply.usage.cost_usd_micro, 9n);

    const idempotencyKey = 'chat-once';
    const first = await farebox.chat.create(call, { idempotencyKey });
    const transfers = await service.transfers();
    assert.deepEqual(await farebox.chat.create(call, { idempotencyKey }), first);
    assert.equal(await service.transfers(), transfers, 'a repeat costs nothing');

    service.fake.behave = {
      chat: (wanted) => {
        const tap = openTap(wanted);
        for (const chunk of [delta('Hel'), delta('lo', 'stop'), usageChunk(5, 2)]) tap.push(chunk);
        tap.end();
        return tap.outcome;
      },
    };
    let text = '';
    let cost: bigint | undefined;
    for await (const chunk of await farebox.chat.create({ ...call, stream: true })) {
      text += (chunk.choices[0]?.delta.content as string | undefined) ?? '';
      cost = chunk.usage?.cost_usd_micro ?? cost;
    }
    service.fake.behave = {};
    assert.deepEqual([text, cost], ['Hello', 9n]);
  },
};

describe('each method', () => {
  test('has its test', () => {
    const { prototype } = Farebox;
    const plain = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
    const grouped = (['models', 'requests', 'deposits', 'keys', 'chat'] as const).flatMap((group) =>
      Object.keys(farebox[group]).map((name) => `${group}.${name}`),
    );
    assert.deepEqual(Object.keys(methods).sort(), [...plain, ...grouped].sort());
  });

  for (const [name, check] of Object.entries(methods)) test(name, check);
});

describe('media inside an input', () => {
  test('are uploaded once each, wherever they stand, and named by their id', async () => {
    const mine = await service.account();
    const path = join(service.dir, 'same.png');
    writeFileSync(path, png);
    const blob = new Blob([png], { type: 'image/png' });
    const deep = { list: [blob, file(path), { again: file(path) }], text: path };
    const seen: { sent: number; total: number | null }[] = [];
    const input = { prompt, image_url: blob, deep };
    const { card } = await clientOf(mine).run(model, input, {
      onUpload: (progress) => void seen.push(progress),
    });
    const files = filesOf(mine);
    assert.equal(files.length, 2);
    const sent = card.input as typeof input & { image_url: string };
    const [first, second, third] = sent.deep.list as any[];
    assert.match(sent.image_url, /^file_[0-9a-f]{32}$/);
    assert.equal(first, sent.image_url);
    assert.equal(third.again, second);
    assert.notEqual(second, first);
    assert.equal(sent.deep.text, path, 'a text is never taken for a path');
    assert.deepEqual(seen.at(-1), { sent: png.length * 2, total: png.length * 2 });
    const totals = new Set(seen.map(({ total }) => total));
    assert.deepEqual(totals, new Set([null, png.length * 2]), 'a total that grows');
    assert.equal(input.image_url, blob, "the caller's own value is left alone");
  });

  test('that are streams of Node are uploaded as well, and a promise is refused', async () => {
    const mine = await service.account();
    const path = join(service.dir, 'stream.png');
    writeFileSync(path, png);
    const image_url = createReadStream(path);
    const { card } = await clientOf(mine).run(model, { prompt, image_url });
    assert.match(String(card.input.image_url), /^file_/);
    const [stored] = filesOf(mine);
    assert.ok(stored);
    const late = Promise.resolve(png);
    const error = await codeOf(farebox.submit(model, { prompt, deep: [{ late }] }));
    assert.deepEqual([error.code, error.param], ['bad_argument', 'input']);
  });

  test('whose bytes cannot be read any more leave nothing submitted, and are tried once', async () => {
    const transfers = await service.transfers();
    const path = join(service.dir, 'changing.png');
    const broken = async function* () {
      yield png.subarray(0, 9);
      throw new Error('the disk is gone');
    };
    const texts = async function* () {
      yield 'no bytes';
    };
    for (const [source, told] of [
      [broken(), /the disk is gone/],
      [texts() as unknown as AsyncIterable<Uint8Array>, /Uint8Array/],
      [
        new Blob([png])
          .stream()
          .pipeThrough(
            new TransformStream({ transform: () => Promise.reject(new Error('the disk is gone')) }),
          ),
        /the disk is gone/,
      ],
    ] as const) {
      const error = await codeOf(farebox.submit(model, { prompt, image_url: source }));
      assert.deepEqual([error.code, error.param], ['bad_argument', 'file']);
      assert.match(error.message, told);
    }
    for (const at of ['/balance', '/files']) {
      writeFileSync(path, png);
      let sent = 0;
      const changing = new Farebox({
        apiKey: account.key,
        baseUrl: `${service.base}/v1`,
        fetch: (url, init) => {
          if (String(url).endsWith(at)) sent++;
          // The file changes while it is sent.
          if (at === '/files') writeFileSync(path, 'shorter');
          return fetch(url, init);
        },
      });
      const blob = await openAsBlob(path);
      if (at === '/balance') writeFileSync(path, 'shorter');
      const error = await codeOf(changing.upload(at === '/files' ? file(path) : blob));
      assert.deepEqual([error.code, error.param], ['bad_argument', 'file']);
      assert.equal(sent, at === '/files' ? 1 : 0);
    }
    assert.equal(await service.transfers(), transfers);
  });

  test('that cannot be uploaded leave nothing submitted', async () => {
    const transfers = await service.transfers();
    const input = { prompt, image_url: file('./gone.png'), other: new Blob([png]) };
    assert.equal((await codeOf(farebox.submit(model, input))).code, 'bad_argument');
    assert.equal(await service.transfers(), transfers);
  });
});

describe('a chat stream', () => {
  const call = {
    model: 'fake/chat',
    messages: [{ role: 'user' as const, content: 'hi' }],
    stream: true as const,
  };
  let tap: Tap;
  before(() => {
    service.fake.behave = { chat: (wanted) => (tap = openTap(wanted)).outcome };
  });
  after(() => {
    service.fake.behave = {};
  });

  test('that breaks off throws, and says what was charged', async () => {
    const begun = farebox.chat.create(call);
    await until('the model was asked', () => tap);
    tap.push(delta('Hel'));
    let text = '';
    const reading = (async () => {
      for await (const chunk of await begun) {
        text += (chunk.choices[0]?.delta.content as string | undefined) ?? '';
        if (text === 'Hel') tap.break();
      }
    })();
    const error = await codeOf(reading);
    assert.equal(text, 'Hel');
    assert.deepEqual([error.code, error.type], ['submit_failed', 'upstream_error']);
    assert.equal(typeof error.details.charged_usd_micro, 'bigint');
    assert.ok(error.idempotencyKey);
  });

  test('whose reader leaves stops the model', async () => {
    const begun = farebox.chat.create(call);
    tap = await until('the model was asked', () => (tap?.returned() ? null : tap));
    tap.push(delta('Hel'));
    for await (const chunk of await begun) if (chunk.choices[0]?.delta.content) break;
    await until('the model is let go', () => tap.returned());
  });
});

function filesOf({ account_id }: TestAccount): string[] {
  try {
    return readdirSync(join(service.dir, 'media', 'files', account_id));
  } catch {
    return [];
  }
}
