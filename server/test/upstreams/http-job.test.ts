import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { jobFor, open, started, type World } from './http-job-kit.ts';
import { looksOf, signal } from './job-kit.ts';
import { rig as kie } from './rigs/kie.ts';
import { rig as wavespeed } from './rigs/wavespeed.ts';

const callback_url = 'https://gateway.test/v1/hooks/1?token=a&b=c';
const flux = { model: 'wavespeed-ai/flux-schnell' };
const services = [
  { rig: kie, job: {} },
  { rig: wavespeed, job: flux },
];

const sentTo = ({ fake }: World) =>
  fake.calls.map(({ method, path, headers, body }) => ({
    call: `${method} ${path}`,
    authorization: headers.authorization,
    type: headers['content-type'],
    json: body.length === 0 ? null : JSON.parse(body.toString()),
  }));

describe('a call', () => {
  test('kie: the model and the address for callbacks are in the body', async (t) => {
    const world = await open(t, kie);
    const input = { prompt: 'a boat', aspect_ratio: '1:1' };
    const handle = await started(world.service, { input, callback_url });
    const id = world.fake.journal[0]!.id;
    assert.deepEqual(handle, { id });
    const body = { model: 'google/nano-banana', input, callBackUrl: callback_url };
    const authorization = `Bearer ${world.fake.key}`;
    await world.service.poll(handle, signal);
    assert.deepEqual(sentTo(world), [
      { call: 'POST /api/v1/jobs/createTask', authorization, type: 'application/json', json: body },
      { call: 'GET /api/v1/jobs/recordInfo', authorization, type: undefined, json: null },
    ]);
  });

  test('wavespeed: the model is the path, the input the body, the address a query', async (t) => {
    const world = await open(t, wavespeed);
    const input = { prompt: 'a boat', size: '1024*1024', webhook: 'https://evil.test' };
    const handle = await started(world.service, { ...flux, input, callback_url });
    assert.equal(world.fake.journal[0]!.callback_url, callback_url);
    const { call, json } = sentTo(world)[0]!;
    assert.equal(call, 'POST /api/v3/wavespeed-ai/flux-schnell');
    assert.deepEqual(json, input);
    await world.service.poll(handle, signal);
    assert.equal(sentTo(world)[1]!.call, `GET /api/v3/predictions/${String(handle.id)}/result`);
  });

  for (const { rig, job } of services)
    test(`${rig.name}: without an address for callbacks, or a secret, none is asked for`, async (t) => {
      const { fake, service, withoutSecret } = await open(t, rig);
      await started(service, job);
      await started(withoutSecret, { ...job, callback_url });
      assert.deepEqual(
        fake.journal.map((each) => each.callback_url),
        [null, null],
      );
      assert.equal(service.class, 'C+');
      assert.equal(withoutSecret.class, 'C');
      assert.equal(withoutSecret.callback, undefined);
    });
});

for (const { rig, job } of services)
  describe(`${rig.name}: a start`, () => {
    test('no server: not accepted', async (t) => {
      const { fake, service } = await open(t, rig);
      await fake.close();
      const outcome = await service.start(jobFor(job));
      assert.partialDeepStrictEqual(outcome, { outcome: 'not_accepted', why: 'unreachable' });
    });

    test('aborted before it was sent: not accepted, and nothing arrives', async (t) => {
      const { fake, service } = await open(t, rig);
      const outcome = await service.start(jobFor({ ...job, signal: AbortSignal.abort() }));
      assert.equal(outcome.outcome, 'not_accepted');
      assert.equal(fake.calls.length, 0);
    });
  });

for (const { rig, job } of services)
  describe(`${rig.name}: polls`, () => {
    test('a poll of a running job says when to poll again', async (t) => {
      const { fake, service } = await open(t, rig);
      const handle = await started(service, job);
      fake.hold(true);
      const state = await service.poll(handle, signal);
      assert.ok(state.state === 'running' && state.poll_after_ms! >= 2000);
    });

    test('an aborted poll throws', async (t) => {
      const { service } = await open(t, rig);
      const handle = await started(service, job);
      await assert.rejects(service.poll(handle, AbortSignal.abort()), /given up/);
    });

    test('check needs a key that is accepted', async (t) => {
      const world = await open(t, rig);
      assert.equal(await world.service.check!(signal), null);
      await world.fake.close();
      const told = await world.service.check!(signal);
      assert.ok(told);
    });
  });

describe('outputs', () => {
  const sourceOf = (fake: World['fake'], index: number, ending = 'png') => ({
    url: `${fake.url}/outputs/${fake.journal[0]!.id}-${index}.${ending}`,
  });

  test('kie: addresses out of a JSON text, without a name, with the cost', async (t) => {
    const { fake, service } = await open(t, kie);
    const handle = await started(service);
    const { last } = await looksOf(service, handle);
    assert.deepEqual(last, {
      state: 'done',
      result: {
        media: [{ source: sourceOf(fake, 0), field: null }],
        fields: {},
        cost_usd_micro: 20_000n,
      },
    });
  });

  test('wavespeed: one video, and several', async (t) => {
    const { fake, service } = await open(t, wavespeed);
    const model = 'wavespeed-ai/wan-2.2/i2v-480p-ultra-fast';
    const handle = await started(service, { model, task: 'image-to-video' });
    const one = await looksOf(service, handle);
    fake.play('output-several');
    const several = await looksOf(service, handle);
    assert.ok(one.last?.state === 'done' && several.last?.state === 'done');
    assert.deepEqual(one.last.result.media, [{ source: sourceOf(fake, 0, 'mp4'), field: null }]);
    assert.equal(several.last.result.media.length, 2);
  });

  test('wavespeed: a data: address becomes bytes', async (t) => {
    const { fake, service } = await open(t, wavespeed);
    fake.play('output-data');
    const handle = await started(service, flux);
    const { last } = await looksOf(service, handle);
    assert.ok(last?.state === 'done');
    const [media] = last.result.media;
    assert.equal(media!.content_type, 'image/png');
    assert.ok('bytes' in media!.source && media!.source.bytes.length > 50);
  });
});

test('wavespeed lists its models', async (t) => {
  const { service } = await open(t, wavespeed);
  assert.ok((await service.models!(signal)).includes('wavespeed-ai/flux-schnell'));
});
