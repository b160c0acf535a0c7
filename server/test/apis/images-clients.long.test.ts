import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import { generateImage } from 'ai';
import OpenAI, { toFile } from 'openai';
import sharp from 'sharp';
import { before, withService } from '../kit/with-service.ts';
import { openSandbox, type OpenedSandbox } from '../upstreams/sandbox-kit.ts';

/** OpenAI's client and the AI SDK, unmodified, make and edit images of the sandbox. */

let sandbox: OpenedSandbox;
let openai: OpenAI;
const statuses: number[] = [];
const { service, account } = withService(async (use) => {
  sandbox = use(await openSandbox());
  const root = resolve(import.meta.dirname, '../../..');
  const catalog = readFileSync(join(root, 'catalog/sandbox.yaml'), 'utf8');
  return { catalog, upstreams: [sandbox.sandbox], running: true };
});
before(async () => {
  openai = new OpenAI({
    baseURL: `${service.base}/v1`,
    apiKey: account.key,
    fetch: async (...args) => {
      const reply = await fetch(...args);
      statuses.push(reply.status);
      return reply;
    },
  });
});

const canvas = 'sandbox/canvas/max/text-to-image';
const prompt = 'a lighthouse at dusk';
const png = () =>
  sharp({ create: { width: 80, height: 60, channels: 3, background: '#c40' } })
    .png()
    .toBuffer();

async function sizeOf(bytes: Buffer): Promise<string> {
  const { width, height, format } = await sharp(bytes).metadata();
  return `${width}x${height} ${format}`;
}

async function newest() {
  const { body } = await service.call('GET', '/v1/requests?limit=1', account);
  return (await service.call('GET', `/v1/requests/${body.data[0].request_id}`, account)).body;
}

describe("OpenAI's client", () => {
  test('makes images of the size and in the form that it asks for', async () => {
    const call = { model: canvas, prompt, n: 2, size: '96x64', output_format: 'jpeg' } as const;
    const { data, response } = await openai.images
      .generate({ ...call, response_format: 'b64_json' })
      .withResponse();
    assert.equal(data.data!.length, 2);
    for (const image of data.data!) {
      assert.equal(image.url, undefined);
      assert.equal(await sizeOf(Buffer.from(image.b64_json!, 'base64')), '96x64 jpeg');
    }
    const card = await newest();
    assert.equal(card.status, 'COMPLETED');
    assert.equal(card.model_id, canvas);
    assert.deepEqual(card.input, {
      prompt,
      output_format: 'jpeg',
      num_images: 2,
      width: 96,
      height: 64,
    });
    const { input } = card;
    const body = { model_id: canvas, input };
    const estimate = await account.post('/v1/estimate', body);
    assert.equal(card.charged_usd_micro, estimate.body.price_usd_micro);
    assert.equal(response.headers.get('x-charge-usd-micro'), card.charged_usd_micro);
    assert.equal((data.usage as any).cost_usd_micro, card.charged_usd_micro);
    assert.equal(response.headers.get('location'), card.status_url);
  });

  test('gets links, and both forms if it does not say', async () => {
    const links = await openai.images.generate({
      model: canvas,
      prompt,
      size: '64x64' as '1024x1024',
      response_format: 'url',
    });
    const [image, ...more] = links.data!;
    assert.deepEqual(more, []);
    assert.equal(image!.b64_json, undefined);
    const { bytes } = await service.call('GET', image!.url!);
    assert.equal(await sizeOf(bytes), '64x64 png');
    const { data } = await openai.images.generate({
      model: canvas,
      prompt,
      size: '64x64' as '256x256',
    });
    const both = await service.call('GET', data![0]!.url!);
    assert.deepEqual(Buffer.from(data![0]!.b64_json!, 'base64'), both.bytes);
  });

  test('edits a file, and several, which are stored as uploads', async () => {
    const image = await toFile(await png(), 'red.png', { type: 'image/png' });
    const call = { model: 'sandbox/canvas/edit', prompt: 'black and white' };
    const { data } = await openai.images.edit({ ...call, image });
    assert.equal(await sizeOf(Buffer.from(data![0]!.b64_json!, 'base64')), '80x60 png');
    const one = await newest();
    assert.match(one.input.image_url, /^file_/);
    await openai.images.edit({ ...call, image: [image, await toFile(await png(), 'b.png')] });
    const two = await newest();
    assert.equal(two.input.reference_image_urls.length, 1);
    const body = { model_id: call.model, input: two.input };
    const estimate = await account.post('/v1/estimate', body);
    assert.equal(two.charged_usd_micro, estimate.body.price_usd_micro);
  });

  test('throws its own errors, once, for what a model cannot take', async () => {
    statuses.length = 0;
    const cases: [call: Record<string, unknown>, param: string][] = [
      [{ size: '9000x9000' }, 'size'],
      [{ n: 9 }, 'n'],
      [{ quality: 'high' }, 'quality'],
      [{ model: 'sandbox/none' }, 'model'],
    ];
    for (const [call, param] of cases) {
      const made = openai.images.generate({ model: canvas, prompt, ...call });
      await assert.rejects(made, (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError, String(error));
        return error.param === param && error.type === 'invalid_request_error';
      });
    }
    assert.deepEqual(statuses, [400, 400, 400, 400]);
  });

  test('gets the reason of a job that failed, and makes no other job', async () => {
    statuses.length = 0;
    const made = openai.images.generate({ model: canvas, prompt: 'sandbox:fail' });
    await assert.rejects(made, (error: any) => {
      assert.ok([400, 502].includes(error.status), String(error));
      return error.error.details.status === 'FAILED';
    });
    assert.equal(statuses.length, 1);
    assert.equal((await newest()).charged_usd_micro, '0');
  });
});

describe('the AI SDK', () => {
  const provider = () => createOpenAI({ baseURL: `${service.base}/v1`, apiKey: account.key });

  test('makes an image with its usual model', async () => {
    const { image } = await generateImage({
      model: provider().image(canvas),
      prompt,
      size: '96x64',
    });
    assert.equal(await sizeOf(Buffer.from(image.uint8Array)), '96x64 png');
  });

  test('edits an image', async () => {
    const { image } = await generateImage({
      model: provider().image('sandbox/canvas/edit'),
      prompt: { text: 'black and white', images: [await png()] },
    });
    assert.equal(await sizeOf(Buffer.from(image.uint8Array)), '80x60 png');
  });
});
