import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { JobState, Upstream } from '../../src/upstreams/upstream.ts';
import { createReplicate } from '../../src/upstreams/replicate/replicate.ts';
import { version } from './fakes/replicate.ts';
import { fileOf, jobOf, openStand, type Stand } from './replicate-kit.ts';
import { ended, handleOf, signal } from './job-kit.ts';

let stand: Stand;
before(async () => void (stand = await openStand()));
after(() => stand.close());
afterEach(() => {
  stand.fake.mend();
  stand.fake.hold(false);
  stand.fake.journal.length = 0;
  stand.fake.calls.length = 0;
  stand.fake.files.clear();
});

const start = (change = {}) => stand.upstream.start(jobOf(change));
const lastCall = () => stand.fake.calls.at(-1)!;
const bodyOf = (call = lastCall()) => JSON.parse(call.body.toString());

describe('a call', () => {
  test('an official model is called at its own address, with only the token and the input', async () => {
    const input = { prompt: 'a lighthouse', num_outputs: 2, image_size: null };
    const handle = handleOf(await start({ input }));
    const [job] = stand.fake.journal;
    assert.deepEqual(handle, { id: job!.id });
    assert.equal(stand.fake.calls.length, 1);
    const { method, path, headers } = lastCall();
    assert.deepEqual([method, path], ['POST', '/v1/models/maker/pictures/predictions']);
    assert.equal(headers.authorization, `Bearer ${stand.fake.key}`);
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers.prefer, undefined, 'nothing waits on an open connection');
    // Models refuse null; a field that is left out gets their default.
    assert.deepEqual(bodyOf(), { input: { prompt: 'a lighthouse', num_outputs: 2 } });
  });

  test('a version goes by its hash, a deployment by its own address', async () => {
    handleOf(await start({ model: `maker/pictures:${version}` }));
    assert.equal(lastCall().path, '/v1/predictions');
    assert.deepEqual(bodyOf(), { version, input: { prompt: 'a lighthouse' } });
    handleOf(await start({ model: 'deployments/maker/films-live' }));
    assert.equal(lastCall().path, '/v1/deployments/maker/films-live/predictions');
  });

  test('a name that is none makes no call', async () => {
    for (const model of [
      '',
      'pictures',
      '../account',
      'maker/../x',
      'a/b/c',
      'maker/pictures:',
      'maker/pictures?x=1',
    ]) {
      const outcome = await start({ model });
      assert.equal(outcome.outcome, 'not_accepted', model);
      assert.equal((outcome as { why?: string }).why, 'model');
    }
    assert.equal(stand.fake.calls.length, 0);
  });

  test('the callback is asked for the end only', async () => {
    await start({ callback_url: 'https://box.example/callbacks/1' });
    const { webhook, webhook_events_filter } = bodyOf();
    assert.equal(webhook, 'https://box.example/callbacks/1');
    assert.deepEqual(webhook_events_filter, ['completed']);
  });

  test('Replicate itself is not asked to call back over http, which it would refuse', async () => {
    const calls: string[] = [];
    const fetch = {
      ...stand.tools.fetch,
      request: async (call: { body?: unknown }) => {
        calls.push(String(call.body));
        return {
          status: 201,
          headers: {},
          body: Buffer.from('{"id":"abc","status":"starting"}'),
          truncated: false,
        };
      },
    };
    const settings = { ...stand.settings, url: 'https://api.replicate.com/v1' };
    const upstream = createReplicate(settings, { ...stand.tools, fetch });
    handleOf(await upstream.start(jobOf({ callback_url: 'http://box.example/callbacks/1' })));
    assert.equal(calls[0]!.includes('webhook'), false, calls[0]);
  });
});

describe("the caller's files", () => {
  const edit = (value: unknown, files = {}, more = {}) =>
    start({ model: 'maker/retouch', input: { prompt: 'x', image: value }, files, ...more });

  test('a small one goes within the input', async () => {
    handleOf(await edit('file_1', { file_1: fileOf(100) }));
    const expected = `data:image/png;base64,${Buffer.alloc(100, 7).toString('base64')}`;
    assert.equal(bodyOf().input.image, expected);
    assert.equal(stand.fake.files.size, 0);
  });

  test('a larger one is uploaded once, byte for byte, and named by its address', async () => {
    const size = 300 * 1024;
    const input = { prompt: 'x', image: 'file_1', images: ['file_1', 'https://example.com/a.png'] };
    const files = { file_1: fileOf(size, 'image/jpeg') };
    handleOf(await start({ model: 'maker/retouch', input, files }));
    const [[id, bytes]] = [...stand.fake.files] as [[string, Buffer]];
    assert.deepEqual(bytes, Buffer.alloc(size, 7));
    const address = `${stand.fake.url}/files/${id}`;
    assert.deepEqual(bodyOf().input, {
      prompt: 'x',
      image: address,
      images: [address, 'https://example.com/a.png'],
    });
    assert.equal(stand.fake.calls.filter(({ path }) => path === '/v1/files').length, 1);
    assert.match(stand.fake.calls[0]!.body.toString('latin1'), /filename="input\.jpeg"/);
  });

  test('a public address passes as it is, a small data: address too, a large one is uploaded', async () => {
    await edit('https://example.com/a.png');
    assert.equal(bodyOf().input.image, 'https://example.com/a.png');
    await edit('data:image/png;base64,AAAA');
    assert.equal(bodyOf().input.image, 'data:image/png;base64,AAAA');
    const large = Buffer.alloc(400 * 1024, 3);
    handleOf(await edit(`data:image/png;base64,${large.toString('base64')}`));
    assert.deepEqual([...stand.fake.files.values()], [large]);
    assert.match(bodyOf().input.image, /\/files\//);
  });

  test('one beyond its storage goes by our link, and without one is refused', async () => {
    const size = 101 * 1024 * 1024;
    const open = () => assert.fail('it is not read');
    const link = 'https://box.example/f/1';
    handleOf(await edit('file_1', { file_1: { ...fileOf(1), size, open, link } }));
    assert.equal(bodyOf().input.image, link);
    const outcome = await edit('file_1', { file_1: { ...fileOf(1), size, open } });
    assert.equal(outcome.outcome, 'rejected');
    assert.equal(stand.fake.journal.length, 1);
  });

  test('a failure before the start makes no job, and may be tried again', async () => {
    const gone = fileOf(300 * 1024, 'image/png', { open: () => Promise.reject(new Error('gone')) });
    const outcomes = [await edit('file_1', { file_1: gone })];
    const wrong = await openStand({ key: 'wrong' });
    const job = jobOf({ input: { image: 'file_1' }, files: { file_1: fileOf(300 * 1024) } });
    outcomes.push(await wrong.upstream.start(job));
    await wrong.fake.close();
    outcomes.push(await wrong.upstream.start(job));
    await wrong.tools.fetch.close();
    const told = outcomes.map((each) => [each.outcome, (each as { why?: string }).why]);
    assert.deepEqual(told, [
      ['not_accepted', undefined],
      ['not_accepted', 'credential'],
      ['not_accepted', 'unreachable'],
    ]);
    assert.equal(stand.fake.journal.length + wrong.fake.journal.length, 0);
  });
});

describe('a start that goes wrong', () => {
  test('the reasons of a refused input reach the caller', async () => {
    const outcome = await start({ input: { prompt: 'x', num_outputs: 9 } });
    assert.equal(outcome.outcome, 'rejected');
    assert.match((outcome as { message: string }).message, /num_outputs: Must be less/);
  });

  test('a version that is gone is a fault of the row, not of the input', async () => {
    const outcome = await start({ model: `maker/pictures:${'0'.repeat(64)}` });
    assert.deepEqual(
      [outcome.outcome, (outcome as { why?: string }).why],
      ['not_accepted', 'model'],
    );
  });

  test('an aborted start stops', async () => {
    const outcome = await start({ signal: AbortSignal.abort() });
    assert.equal(outcome.outcome, 'not_accepted');
    assert.equal(stand.fake.calls.length, 0);
  });

  test('an answer that repeats the token does not hand it on', async () => {
    const fetch = {
      ...stand.tools.fetch,
      request: async () => ({
        status: 422,
        headers: {},
        truncated: false,
        body: Buffer.from(JSON.stringify({ detail: `bad token ${stand.fake.key}` })),
      }),
    };
    const upstream = createReplicate(stand.settings, { ...stand.tools, fetch });
    const outcome = await upstream.start(jobOf());
    assert.equal(JSON.stringify(outcome).includes(stand.fake.key), false);
    assert.equal((await upstream.check!(signal))!.includes(stand.fake.key), false);
  });
});

describe('polls', () => {
  test('a job starts, runs with progress and logs, and is done with its images', async () => {
    const seen: JobState[] = [];
    const input = { prompt: 'a lighthouse', num_outputs: 2 };
    const handle = handleOf(await start({ input }));
    const state = await ended(stand.upstream, handle, seen);
    assert.deepEqual(seen, [
      { state: 'running' },
      {
        state: 'running',
        progress: 0.5,
        logs: ['Using seed: 7', ' 10%|█         | 1/10', ' 50%|█████     | 5/10'],
      },
    ]);
    const url = (i: number) =>
      `${stand.fake.url.replace('/v1', '')}/delivery/${handle.id}/out-${i}.png`;
    assert.deepEqual(state, {
      state: 'done',
      result: { media: [0, 1].map((i) => ({ field: null, source: { url: url(i) } })), fields: {} },
    });
    assert.equal(lastCall().path, `/v1/predictions/${handle.id}`);
  });

  test('an output keeps the names it has', async () => {
    const shapes: [string, unknown][] = [
      ['maker/retouch', [null]],
      ['maker/films', [null]],
      ['maker/voices', [null]],
      ['maker/layers', ['image', 'mask', { score: 0.5 }]],
      ['maker/writer', [{ text: 'A lighthouse at dusk.' }]],
    ];
    for (const [model, expected] of shapes) {
      const state = await ended(stand.upstream, handleOf(await start({ model })));
      assert.equal(state.state, 'done');
      const { media, fields } = (state as Extract<JobState, { state: 'done' }>).result;
      const told: unknown[] = media.map(({ field }) => field);
      if (Object.keys(fields).length > 0) told.push(fields);
      assert.deepEqual(told, expected, model);
    }
  });

  test('a data: address is bytes, several outputs are a list', async () => {
    stand.fake.play('output-data');
    const one = await ended(stand.upstream, handleOf(await start()));
    const [media] = (one as Extract<JobState, { state: 'done' }>).result.media;
    assert.ok(media && 'bytes' in media.source && media.source.bytes.length > 50);
    stand.fake.play('output-several');
    const two = await ended(stand.upstream, handleOf(await start({ model: 'maker/films' })));
    assert.equal((two as Extract<JobState, { state: 'done' }>).result.media.length, 2);
  });

  test('an aborted poll stops', async () => {
    const handle = handleOf(await start());
    const calls = stand.fake.calls.length;
    await assert.rejects(stand.upstream.poll(handle, AbortSignal.abort()));
    assert.equal(stand.fake.calls.length, calls);
  });
});

describe('cancel', () => {
  test('a running job is cancelled, and ends so', async () => {
    const handle = handleOf(await start());
    await stand.upstream.cancel!(handle, signal);
    assert.deepEqual(
      [lastCall().method, lastCall().path],
      ['POST', `/v1/predictions/${handle.id}/cancel`],
    );
    assert.equal(stand.fake.journal[0]!.cancelled, true);
    const state = await stand.upstream.poll(handle, signal);
    assert.deepEqual(state, {
      state: 'stopped',
      code: 'upstream_failed',
      message: 'The job was cancelled at Replicate.',
    });
  });

  test('it resolves for an unknown job, and fails without an answer', async () => {
    await stand.upstream.cancel!({ id: 'nobody' }, signal);
    await stand.upstream.cancel!({ id: '../../account' }, signal);
    assert.equal(lastCall().path, '/v1/predictions/..%2F..%2Faccount/cancel');
    await assert.rejects(stand.upstream.cancel!({ id: 'x' }, AbortSignal.abort()));
  });
});

test('addresses in a reply are not called, so the token stays with the base address', async () => {
  const calls: string[] = [];
  const prediction = {
    id: 'abc',
    status: 'processing',
    urls: { get: 'https://evil.example/get', cancel: 'https://evil.example/cancel' },
  };
  const fetch = {
    ...stand.tools.fetch,
    request: async ({ url }: { url: string }) => {
      calls.push(url);
      return {
        status: 201,
        headers: {},
        body: Buffer.from(JSON.stringify(prediction)),
        truncated: false,
      };
    },
  };
  const upstream = createReplicate(stand.settings, { ...stand.tools, fetch });
  const handle = handleOf(await upstream.start(jobOf()));
  await upstream.poll(handle, signal).catch(() => {});
  await upstream.cancel!(handle, signal);
  assert.equal(calls.length, 3);
  for (const url of calls) assert.ok(url.startsWith(`${stand.fake.url}/`), url);
});

test('the check says whether the token is accepted, and makes nothing', async () => {
  assert.equal(await stand.upstream.check!(signal), null);
  const wrong = await openStand({ key: 'wrong' });
  assert.match((await wrong.upstream.check!(signal))!, /401.*authentication token/);
  await wrong.close();
  assert.equal(stand.fake.journal.length, 0);
});

test('its models are the official ones and the own deployments', async () => {
  const names = await stand.upstream.models!(signal);
  assert.ok(names.includes('maker/pictures'));
  assert.ok(names.includes('deployments/maker/films-live'));
});

test('a page that is not a list or a model does not count as one', async () => {
  const has = (upstream: Upstream, model: string) => upstream.hasModel!(model, signal);
  const names = ['maker/pictures', `maker/pictures:${version}`, 'deployments/maker/films-live'];
  for (const name of names) assert.equal(await has(stand.upstream, name), true, name);
  for (const name of ['maker/gone', 'maker/pictures:gone', 'deployments/maker/gone'])
    assert.equal(await has(stand.upstream, name), false, name);
  for (const body of ['<!doctype html>', '{"message":"hello"}', '[]']) {
    const reply = { status: 200, headers: {}, body: Buffer.from(body), truncated: false };
    const fetch = { ...stand.tools.fetch, request: async () => reply };
    const upstream = createReplicate(stand.settings, { ...stand.tools, fetch });
    for (const name of names)
      await assert.rejects(
        has(upstream, name),
        /the request for the model .* was answered with 200, without the model/,
      );
    await assert.rejects(upstream.models!(signal), /the request for its models/);
    assert.match((await upstream.check!(signal))!, /^the service at its address is not Replicate$/);
  }
});
