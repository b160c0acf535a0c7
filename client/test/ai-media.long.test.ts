import { after, before, beforeEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import * as bunny from 'mediabunny';
import { NoSuchModelError } from '@ai-sdk/provider';
import {
  APICallError,
  createProviderRegistry,
  experimental_generateVideo,
  generateImage,
} from 'ai';
import { createFarebox, type FareboxProvider } from '../src/ai.ts';
import { images, tinyPng } from '../../server/test/kit/fake.ts';
import { startFaulty, type FaultyProxy } from '../../server/test/kit/faulty.ts';
import { startService, type Service, type TestAccount } from '../../server/test/kit/service.ts';
import { until } from '../../server/test/kit/until.ts';
import { film } from '../../server/test/storage/media-fixtures.ts';
import { aiCatalog } from './ai-kit.ts';

/** The unmodified AI SDK makes images and videos through our provider. */

let service: Service;
let proxy: FaultyProxy;
let account: TestAccount;
let farebox: FareboxProvider;
let bytes: Buffer;
before(async () => {
  service = await startService({ catalog: aiCatalog, running: true });
  proxy = await startFaulty(service.base);
  bytes = await film(new bunny.Mp4OutputFormat());
});
after(async () => {
  await service.audit();
  await proxy.stop();
  await service.stop();
});
beforeEach(async () => {
  account = await service.account();
  service.fake.behave = {};
  service.fake.starts.length = 0;
  proxy.calls.length = 0;
  proxy.spoil = () => undefined;
  farebox = createFarebox({ apiKey: account.key, baseUrl: `${proxy.base}/v1` });
});

const submits = () => proxy.calls.filter(({ path }) => path.startsWith('/v1/queue/'));
const inputs = () => service.fake.starts.map(({ input }) => input);

function giveFilm(): void {
  const media = [{ field: 'video', source: { bytes } }];
  service.fake.behave.poll = () => ({ state: 'done', result: { media, fields: {} } });
}

test('a registry of providers finds models of each kind by their ids, slashes included', async () => {
  const registry = createProviderRegistry({ farebox });
  assert.equal(registry.languageModel('farebox:ai/chat').modelId, 'ai/chat');
  assert.equal(registry.videoModel('farebox:ai/film').modelId, 'ai/film');
  const model = registry.imageModel('farebox:ai/picture');
  assert.equal((await generateImage({ model, prompt: 'a cat' })).images.length, 1);
});

describe('pictures', () => {
  test('come as bytes, with their cost', async () => {
    service.fake.behave.poll = () => ({ state: 'done', result: images(2) });
    const result = await generateImage({
      model: farebox.image('ai/picture'),
      prompt: 'a cat',
      n: 2,
      size: '640x480',
      seed: 7,
      providerOptions: { farebox: { style: 'ink' } },
    });
    assert.equal(result.images.length, 2);
    assert.deepEqual(Buffer.from(result.images[0]!.uint8Array), tinyPng);
    assert.deepEqual(inputs(), [
      {
        prompt: 'a cat',
        num_images: 2,
        image_size: { width: 640, height: 480 },
        seed: 7,
        style: 'ink',
      },
    ]);
    const metadata = result.calls[0]!.providerMetadata!.farebox as any;
    assert.equal(metadata.charged_usd_micro, '20000');
    assert.equal(metadata.images[0].request_id, metadata.request_id);
    assert.deepEqual(result.warnings, []);
  });

  test('beyond what one request may ask for are several requests, each under its own key', async () => {
    service.fake.behave.poll = () => ({ state: 'done', result: images(4) });
    const model = farebox.image('ai/picture');
    const { images: made } = await generateImage({ model, prompt: 'a cat', n: 8 });
    assert.equal(made.length, 8);
    assert.equal(submits().length, 2);
    assert.equal(new Set(submits().map(({ headers }) => headers['idempotency-key'])).size, 2);
  });

  test('of the caller are uploaded, and a warning names settings that the model lacks', async () => {
    const model = farebox.image('ai/picture');
    const prompt = { text: 'a cat', images: [tinyPng], mask: tinyPng };
    const { warnings } = await generateImage({ model, prompt, aspectRatio: '16:9' });
    assert.equal(proxy.calls.filter(({ path }) => path === '/v1/files').length, 1);
    const { prompt: text, image_url } = inputs()[0]!;
    assert.equal(text, 'a cat');
    assert.match(JSON.stringify(image_url), /image\/png|file_|http/);
    assert.deepEqual(
      warnings.map((warning) => warning.type === 'unsupported' && warning.feature),
      ['aspectRatio', 'mask'],
    );
  });

  test('that cannot be paid are refused once', async () => {
    const poor = await service.account({ usd: 0 });
    const model = createFarebox({ apiKey: poor.key, baseUrl: `${proxy.base}/v1` }).image(
      'ai/picture',
    );
    const error = await generateImage({ model, prompt: 'a cat' }).catch((e: unknown) => e);
    assert.ok(APICallError.isInstance(error), String(error));
    assert.equal(error.statusCode, 402);
    assert.equal((error.data as any).error.code, 'insufficient_balance');
    assert.equal(submits().length, 1);
  });

  test('that fail are not made again, and cost nothing', async () => {
    service.fake.behave.poll = () => ({
      state: 'failed',
      code: 'upstream_rejected',
      message: 'No cats.',
    });
    const model = farebox.image('ai/picture');
    const error = await generateImage({ model, prompt: 'a cat' }).catch((e: unknown) => e);
    assert.ok(APICallError.isInstance(error));
    assert.match(error.message, /No cats.*Nothing was charged/);
    assert.equal(submits().length, 1);
    assert.equal((await service.balance(account)).available, 100_000_000n);
  });

  test('whose submit got lost are submitted again under the same key, and made once', async () => {
    proxy.spoil = () =>
      submits().length === 1 && !spoilt ? ((spoilt = true), { cutAt: 0 }) : undefined;
    let spoilt = false;
    const model = farebox.image('ai/picture');
    await generateImage({ model, prompt: 'a cat' });
    assert.equal(submits().length, 2);
    assert.equal(service.fake.starts.length, 1);
  });

  test('are not asked of a model for text or films', async () => {
    for (const id of ['ai/chat', 'ai/film']) {
      const model = farebox.image(id);
      const error = await generateImage({ model, prompt: 'a cat' }).catch((e: unknown) => e);
      assert.ok(NoSuchModelError.isInstance(error), String(error));
    }
    assert.equal(submits().length, 0);
    assert.throws(() => farebox.embeddingModel('ai/chat'), NoSuchModelError.isInstance);
  });
});

describe('films', () => {
  const wish = { prompt: 'a cat runs', duration: 2.5, resolution: '1280x720' as const };

  test('come as bytes, with their cost', async () => {
    giveFilm();
    const { video, warnings, providerMetadata } = await experimental_generateVideo({
      model: farebox.video('ai/film'),
      ...wish,
      frameImages: [
        { image: tinyPng, frameType: 'first_frame' },
        { image: tinyPng, frameType: 'last_frame' },
      ],
      generateAudio: true,
      fps: 30,
    });
    assert.deepEqual(Buffer.from(video.uint8Array), bytes);
    assert.equal(video.mediaType, 'video/mp4');
    const { image_url, end_image_url, ...input } = inputs()[0]!;
    assert.deepEqual(input, {
      prompt: 'a cat runs',
      duration_seconds: 2.5,
      resolution: '720p',
      generate_audio: true,
    });
    assert.ok(image_url && end_image_url);
    assert.equal(providerMetadata.farebox!.quoted_usd_micro, '250000');
    assert.match(String(providerMetadata.farebox!.charged_usd_micro), /^\d+$/);
    assert.deepEqual(warnings, [{ type: 'unsupported', feature: 'fps' }]);
  });

  test('take a resolution by the name that the model has for it', async () => {
    giveFilm();
    const { warnings } = await experimental_generateVideo({
      model: farebox.video('ai/film'),
      prompt: 'a cat runs',
      resolution: '480p' as `${number}x${number}`,
    });
    assert.equal(inputs()[0]!.resolution, '480p');
    assert.deepEqual(warnings, []);
  });

  test('are begun and polled by the SDK if it is asked to', async () => {
    giveFilm();
    const { video, providerMetadata } = await experimental_generateVideo({
      model: farebox.video('ai/film'),
      ...wish,
      poll: { intervalMs: 5 },
    });
    assert.deepEqual(Buffer.from(video.uint8Array), bytes);
    assert.equal(submits().length, 1);
    assert.match(String(submits()[0]!.headers['idempotency-key']), /^aisdk_vid_/);
    assert.ok(providerMetadata.farebox!.charged_usd_micro);
  });

  test('tell the SDK of their end by a webhook', async () => {
    giveFilm();
    let arrived = (_body: any) => {};
    const received = new Promise<any>((resolve) => {
      arrived = (body) => resolve({ headers: {}, body });
    });
    const made = experimental_generateVideo({
      model: farebox.video('ai/film'),
      ...wish,
      webhook: async () => ({ url: 'https://example.com/hook', received }),
    });
    const done = async () => {
      const { body } = await service.call('GET', '/v1/requests?status=COMPLETED', {
        key: account.key,
      });
      return body.data[0];
    };
    const { request_id } = await until('it is made', done);
    const card = await service.call('GET', `/v1/requests/${request_id}`, { key: account.key });
    assert.equal(card.body.webhook.url, 'https://example.com/hook');
    arrived(card.body);
    assert.equal((await made).video.mediaType, 'video/mp4');
  });

  test('whose caller leaves are cancelled while they are in the queue', async (t) => {
    // No slot is free, so the request stays in the queue.
    const { concurrency } = service.fake;
    Object.assign(service.fake, { concurrency: 0 });
    t.after(() => Object.assign(service.fake, { concurrency }));
    const stop = new AbortController();
    const call = experimental_generateVideo({
      model: farebox.video('ai/film'),
      ...wish,
      abortSignal: stop.signal,
    });
    await until('it is submitted', () => proxy.calls.some(({ path }) => path.includes('/status')));
    stop.abort();
    await assert.rejects(call, { name: 'AbortError' });
    const { body } = await service.call('GET', '/v1/requests', { key: account.key });
    assert.equal(body.data[0].status, 'CANCELLED');
    assert.equal((await service.balance(account)).reserved, 0n);
  });

  test('given up while they are submitted are cancelled as well', async (t) => {
    const { concurrency } = service.fake;
    Object.assign(service.fake, { concurrency: 0 });
    t.after(() => Object.assign(service.fake, { concurrency }));
    for (const poll of [undefined, { intervalMs: 5 }]) {
      const stop = new AbortController();
      // The submit reaches the service, which does not notice that the caller has left.
      proxy.spoil = ({ path }) => {
        if (path.startsWith('/v1/queue/')) stop.abort(new Error('mine'));
        return undefined;
      };
      const call = experimental_generateVideo({
        model: farebox.video('ai/film'),
        ...wish,
        ...(poll && { poll }),
        abortSignal: stop.signal,
      });
      await assert.rejects(call, { message: 'mine' });
    }
    const { body } = await service.call('GET', '/v1/requests', { key: account.key });
    const states = body.data.map(({ status }: { status: string }) => status);
    assert.deepEqual(states, ['CANCELLED', 'CANCELLED']);
    assert.equal((await service.balance(account)).reserved, 0n);
    assert.equal(service.fake.starts.length, 0, 'one of them was made');
  });

  test('given up before they are submitted make no call', async () => {
    const stop = new AbortController();
    proxy.spoil = ({ path }) => {
      if (path === '/v1/files') stop.abort(new Error('mine'));
      return undefined;
    };
    const call = experimental_generateVideo({
      model: farebox.video('ai/film'),
      ...wish,
      frameImages: [{ image: tinyPng, frameType: 'first_frame' }],
      abortSignal: stop.signal,
    });
    await assert.rejects(call, { message: 'mine' });
    assert.equal(submits().length, 0);
  });

  test('of a size that is not offered are made in the usual one, with a warning', async () => {
    giveFilm();
    const model = farebox.video('ai/film');
    const { warnings } = await experimental_generateVideo({
      model,
      ...wish,
      resolution: '3840x2160',
    });
    assert.deepEqual(warnings, [
      { type: 'unsupported', feature: 'resolution', details: 'The model offers 480p, 720p.' },
    ]);
  });
});
