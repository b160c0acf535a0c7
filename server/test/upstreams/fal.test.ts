import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFal } from '../../src/upstreams/fal/fal.ts';
import type { JobState } from '../../src/upstreams/upstream.ts';
import { falKey } from './fakes/fal.ts';
import { nowhere, serve } from './fakes/kit.ts';
import { jobFor, open, started } from './fal-kit.ts';
import { looksOf, signal } from './job-kit.ts';

const secrets = ['fal-key-id', 'fal-key-secret'];
const tellsNoKey = (told: unknown) => {
  const text = JSON.stringify(told);
  for (const secret of secrets) assert.ok(!text.includes(secret), text);
};

test('a job is submitted once, in the form of the queue', async (t) => {
  const { fake, fal } = await open(t);
  const callback_url = 'https://gateway.test/v1/hooks/fal/1?a=b&c=d';
  const handle = await started(fal, { callback_url }, { prompt: 'a boat', seed: 3 });
  assert.equal(fake.calls.length, 1);
  const [{ method, path, headers, body }] = fake.calls as [(typeof fake.calls)[0]];
  assert.deepEqual([method, path], ['POST', '/fal-ai/flux/dev']);
  assert.equal(headers.authorization, `Key ${falKey}`);
  assert.equal(headers['content-type'], 'application/json');
  assert.deepEqual(JSON.parse(body.toString()), { prompt: 'a boat', seed: 3 });
  assert.equal(fake.journal[0]!.callback_url, callback_url);
  const own = `${fake.url}/fal-ai/flux/requests/${fake.journal[0]!.id}`;
  assert.deepEqual(handle, {
    request_id: fake.journal[0]!.id,
    model: 'fal-ai/flux/dev',
    status_url: `${own}/status`,
    response_url: own,
    cancel_url: `${own}/cancel`,
  });
});

test('without an address for callbacks none is asked for', async (t) => {
  const { fake, fal } = await open(t);
  await started(fal);
  assert.equal(fake.journal[0]!.callback_url, null);
});

test('if no server listens, the start was not accepted', async (t) => {
  const { tools, settings } = await open(t);
  const outcome = await createFal({ ...settings, url: nowhere }, tools).start(jobFor({}));
  assert.partialDeepStrictEqual(outcome, { outcome: 'not_accepted', why: 'unreachable' });
});

const lying: [string, object, outcome: string][] = [
  ['a redirect', { status: 307, headers: { location: 'http://127.0.0.1:9/' } }, 'not_accepted'],
  ['a list', { json: [] }, 'unknown'],
  ['an id that is none', { json: { request_id: '../../other' } }, 'unknown'],
  ['no id', { json: { status: 'IN_QUEUE' } }, 'unknown'],
  ['a megabyte', { body: `{"request_id":"a","x":"${'x'.repeat(1e6)}"}` }, 'unknown'],
  ['the caller left', { status: 499, json: { detail: `left ${falKey}` } }, 'unknown'],
  ['our key', { status: 422, json: { detail: `Key ${falKey} or fal-key-secret` } }, 'rejected'],
];
for (const [name, reply, expected] of lying) {
  test(`a submit that is answered with ${name} is ${expected}`, async (t) => {
    const { tools, settings } = await open(t);
    const server = await serve(() => reply);
    t.after(() => server.close());
    const outcome = await createFal({ ...settings, url: server.url }, tools).start(jobFor({}));
    assert.equal(outcome.outcome, expected);
    assert.equal(server.calls.length, 1);
    tellsNoKey(outcome);
  });
}

test('addresses of another origin are not followed, so our key goes nowhere else', async (t) => {
  const { fake, fal } = await open(t);
  const stranger = await serve(() => ({ json: { status: 'COMPLETED' } }));
  t.after(() => stranger.close());
  fake.pointTo(stranger.url);
  const handle = await started(fal, { model: 'workflows/me/flow/extra' });
  assert.ok(String(handle.status_url).startsWith(`${fake.url}/workflows/me/flow/requests/`));
  const { words } = await looksOf(fal, handle);
  await fal.cancel!(handle, signal);
  assert.deepEqual(words, ['running', 'running', 'done']);
  assert.equal(stranger.calls.length, 0);
});

test('a handle from before the definition was moved leads to the new place', async (t) => {
  const { fake, fal } = await open(t);
  const { request_id, model } = await started(fal);
  const old = { request_id, model, status_url: 'https://old.test/fal-ai/flux/requests/1/status' };
  assert.equal((await fal.poll(old, signal)).state, 'running');
  assert.equal(fake.calls.at(-1)!.path, `/fal-ai/flux/requests/${String(request_id)}/status`);
});

const results: [string, object, expected: Partial<JobState> | 'threw'][] = [
  ['502 of a gateway', { status: 502, body: '<html>' }, 'threw'],
  ['500 that is not of the job', { status: 500, json: { detail: 'oops' } }, 'threw'],
  ['half of a JSON text', { body: '{"images": [' }, 'threw'],
  ['that it is too early', { status: 400, json: { detail: 'still in progress' } }, 'threw'],
  ['401', { status: 401, json: { detail: 'no' } }, 'threw'],
  ['a page with 422', { status: 422, body: '<html>' }, 'threw'],
  ['410', { status: 410, body: '' }, { code: 'upstream_failed' }],
  [
    'a fault of the platform',
    { status: 504, headers: { 'x-fal-error-type': 'request_timeout' }, json: { detail: 'late' } },
    { code: 'upstream_failed', message: 'late' },
  ],
  [
    'a cancelled job',
    { status: 499, headers: { 'x-fal-error-type': 'client_cancelled' }, json: {} },
    { state: 'stopped', code: 'upstream_failed', message: 'The model failed.' },
  ],
  [
    'a fault that another try may not have',
    { status: 422, headers: { 'x-fal-retryable': 'true' }, json: { detail: 'no file' } },
    { code: 'upstream_failed', message: 'no file' },
  ],
  [
    '400 of the model',
    { status: 400, json: { detail: 'bad size' } },
    { code: 'upstream_rejected', message: 'bad size' },
  ],
];
for (const [name, reply, expected] of results) {
  test(`a result that answers ${name}: ${JSON.stringify(expected)}`, async (t) => {
    const { tools, settings } = await open(t);
    const server = await serve(({ path }) =>
      path.endsWith('/status') ? { json: { status: 'COMPLETED' } } : reply,
    );
    t.after(() => server.close());
    const fal = createFal({ ...settings, url: server.url }, tools);
    const handle = { request_id: 'r1', model: 'fal-ai/flux/dev' };
    const { words, last } = await looksOf(fal, handle, 1);
    if (expected === 'threw') assert.match(words.join(), /^threw /);
    else assert.partialDeepStrictEqual(last, { state: 'failed', ...expected });
  });
}

test('a result is taken with its media, its fields and what it cost', async (t) => {
  const { fake, fal } = await open(t);
  fake.play('output-several');
  const handle = await started(fal);
  const { words, last } = await looksOf(fal, handle);
  assert.deepEqual(words, ['running', 'running', 'done']);
  assert.ok(last?.state === 'done');
  const { media, fields, cost_usd_micro, quantity } = last.result;
  const url = (index: number) => `${fake.url}/outputs/${String(handle.request_id)}/${index}.png`;
  assert.deepEqual(
    media.map(({ field, source }) => [field, source]),
    [0, 1].map((index) => ['images', { url: url(index) }]),
  );
  assert.deepEqual(fields, { seed: 7, has_nsfw_concepts: [false, false], prompt: '' });
  // 1.5 units at 0.025 USD. The row cannot know fal's unit, so there is no quantity.
  assert.equal(cost_usd_micro, 37_500n);
  assert.equal(quantity, undefined);
});

test('the price of a unit is asked for once an hour, and its lack does no harm', async (t) => {
  const { fake, fal, later } = await open(t);
  fake.play('poll-at-once-done');
  const asked = () => fake.calls.filter(({ path }) => path === '/v1/models/pricing').length;
  const costOf = async (model: string) => {
    const { last } = await looksOf(fal, await started(fal, { model }));
    return last?.state === 'done' ? last.result.cost_usd_micro : 'not done';
  };
  assert.equal(await costOf('fal-ai/flux/dev'), 37_500n);
  assert.equal(await costOf('fal-ai/flux/dev'), 37_500n);
  assert.equal(asked(), 1);
  later(3_600_001);
  assert.equal(await costOf('fal-ai/flux/dev'), 37_500n);
  assert.equal(asked(), 2);
  assert.equal(await costOf('fal-ai/unknown'), undefined);
  assert.equal(await costOf('fal-ai/euro'), undefined);
});

test('a text in place of media is `text`', async (t) => {
  const { tools, settings } = await open(t);
  const server = await serve(({ path }) => ({
    json: path.endsWith('/status') ? { status: 'COMPLETED' } : { output: 'a cat', usage: 1 },
  }));
  t.after(() => server.close());
  const fal = createFal({ ...settings, url: server.url }, tools);
  const state = await fal.poll({ request_id: 'r1', model: 'fal-ai/see' }, signal);
  const result = { media: [], fields: { usage: 1, text: 'a cat' } };
  assert.deepEqual(state, { state: 'done', result });
});

test('a running job shows its log', async (t) => {
  const { fake, fal } = await open(t);
  const handle = await started(fal);
  assert.deepEqual(await fal.poll(handle, signal), { state: 'running', logs: [] });
  assert.deepEqual(await fal.poll(handle, signal), { state: 'running', logs: ['drawing'] });
  assert.equal(fake.calls.at(-1)!.method, 'GET');
});

test('a handle without a job is missing, without a call', async (t) => {
  const { fake, fal } = await open(t);
  for (const handle of [{}, { request_id: '../x', model: 'a/b' }, { request_id: 'x' }])
    assert.equal((await fal.poll(handle, signal)).state, 'missing');
  assert.equal(fake.calls.length, 0);
});

test('a cancel is a PUT; the job ends as stopped', async (t) => {
  const { fake, fal } = await open(t);
  const handle = await started(fal);
  await fal.cancel!(handle, signal);
  assert.deepEqual([fake.calls.at(-1)!.method, fake.journal[0]!.cancelled], ['PUT', true]);
  const { last } = await looksOf(fal, handle);
  const message = 'Request was cancelled by the client';
  assert.deepEqual(last, { state: 'stopped', code: 'upstream_failed', message });
});

test('a late cancel changes nothing, and one without an answer fails', async (t) => {
  const { fake, fal } = await open(t);
  fake.play('cancel-late');
  const handle = await started(fal);
  await fal.cancel!(handle, signal);
  assert.equal((await looksOf(fal, handle)).last?.state, 'done');
  await fal.cancel!(handle, signal);
  await fal.cancel!({ request_id: 'never', model: 'a/b' }, signal);
  await fal.cancel!({}, signal);
  await fake.close();
  await assert.rejects(fal.cancel!(handle, signal));
});

for (const [status, is] of [
  [200, 'taken'],
  [202, 'taken'],
  [400, 'too late'],
  [404, 'too late'],
  [409, 'too late'],
  [401, 'failed'],
  [405, 'failed'],
  [429, 'failed'],
  [500, 'failed'],
  [503, 'failed'],
] as const)
  test(`a cancel that is answered with ${status} is ${is}`, async (t) => {
    const { tools, settings } = await open(t);
    const server = await serve(() => ({ status, json: {} }));
    t.after(() => server.close());
    const fal = createFal({ ...settings, url: server.url }, tools);
    const call = fal.cancel!({ request_id: 'r1', model: 'fal-ai/flux/dev' }, signal);
    await (is === 'failed' ? assert.rejects(call, new RegExp(String(status))) : call);
  });

test('a job that was stopped tells what it was billed', async (t) => {
  const { tools, settings } = await open(t);
  const server = await serve(({ path }) =>
    path.endsWith('/status')
      ? { json: { status: 'COMPLETED' } }
      : {
          status: 499,
          headers: { 'x-fal-error-type': 'client_cancelled', 'x-fal-billable-units': '2' },
          json: { detail: 'Request was cancelled' },
        },
  );
  t.after(() => server.close());
  const fal = createFal({ ...settings, url: server.url }, tools);
  const { last } = await looksOf(fal, { request_id: 'r1', model: 'fal-ai/flux/dev' }, 1);
  assert.ok(last?.state === 'stopped' && last.cost_usd_micro! > 0n);
});

test('check says in words what is wrong, and costs nothing', async (t) => {
  const { fake, fal, tools, settings } = await open(t);
  assert.equal(await fal.check!(signal), null);
  fake.play('submit-credential');
  const said = await fal.check!(signal);
  assert.match(said!, /^it rejects the key: No user found/);
  const gone = { ...settings, options: { api_url: 'http://127.0.0.1:9/v1' } };
  assert.match((await createFal(gone, tools).check!(signal))!, /127\.0\.0\.1:9/);
  assert.equal(fake.journal.length, 0);
});

test('models are read from all pages', async (t) => {
  const { fal } = await open(t);
  const expected = ['fal-ai/flux/dev', 'fal-ai/test-video', 'fal-ai/euro'];
  assert.deepEqual(await fal.models!(signal), expected);
});

test('prices are in US dollars; an endpoint without one is left out', async (t) => {
  const { fake, fal } = await open(t);
  const micro = { n: 25_000_000n, d: 1000n };
  const dev = { price: { unit: 'MP', cost: micro, cost_output: null } };
  const some = ['fal-ai/none', 'fal-ai/flux/dev', 'fal-ai/nothing', 'fal-ai/euro'];
  assert.deepEqual([...(await fal.terms!(some, signal))], [['fal-ai/flux/dev', dev]]);
  assert.deepEqual([...(await fal.terms!([], signal))], []);
  fake.play('submit-credential');
  await assert.rejects(fal.terms!(['a/b'], signal), /No user found/);
});

test('many endpoints are asked about in several short questions', async (t) => {
  const { tools, settings } = await open(t);
  const api = await serve(({ query }) => ({
    json: {
      prices: query.getAll('endpoint_id').map((endpoint_id) => {
        return { endpoint_id, unit_price: 1, unit: 'images', currency: 'USD' };
      }),
    },
  }));
  t.after(() => api.close());
  const there = createFal({ ...settings, options: { api_url: api.url } }, tools);
  const ids = Array.from({ length: 120 }, (_, index) => `fal-ai/${'x'.repeat(40)}/${index}`);
  assert.deepEqual([...(await there.terms!(ids, signal)).keys()], ids);
  assert.ok(api.calls.length >= 3);
});

test('every call ends with its signal', async (t) => {
  const { fake, fal } = await open(t);
  const handle = await started(fal);
  const before = fake.calls.length;
  const given = AbortSignal.abort();
  const outcome = await fal.start(jobFor({}, { signal: given }));
  assert.equal(outcome.outcome, 'not_accepted');
  await assert.rejects(fal.poll(handle, given));
  await assert.rejects(fal.models!(given));
  await assert.rejects(fal.cancel!(handle, given));
  assert.equal(fake.calls.length, before);
  assert.equal(fake.journal.length, 1);
});

test('options that do not fit are refused in words', async (t) => {
  const { tools, settings } = await open(t);
  const make = (more: object) => () => createFal({ ...settings, ...more }, tools);
  assert.throws(make({ key: null }), /needs a key/);
  assert.throws(make({ options: { rest_url: 'ftp://x' } }), /"rest_url" must be/);
  assert.throws(make({ options: { resturl: 'x' } }), /no option "resturl"/);
});
