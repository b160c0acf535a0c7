import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Model } from '../../src/core/catalog/catalog.ts';
import { validateInput } from '../../src/core/catalog/model-input.ts';
import {
  imagesInput,
  readImagesCall,
  type ImagesDoor,
} from '../../src/core/request/images-call.ts';
import { atOwnField, formValue } from '../../src/core/request/translated.ts';
import { ApiError } from '../../src/core/errors.ts';
import { price } from '../../src/core/price/price.ts';
import { objectOf, type Json } from '../../src/lib/json.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { isLong } from '../kit/long.ts';

/** Calls of OpenAI's Images, translated to inputs of the shipped models. */

const folder = new URL('../../../catalog/', import.meta.url);
const rows = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => parseCatalogText(readFileSync(new URL(name, folder), 'utf8'), name).rows)
  .filter((row): row is Model => 'input_schema' in row);

function rowOf(id: string): Model {
  const row = rows.find((each) => each.id === id);
  assert.ok(row, id);
  return row;
}

function inputOf(door: ImagesDoor, id: string, body: Json): Json {
  return imagesInput(readImagesCall(door, { model: id, ...body }), rowOf(id)).input;
}

function refusal(work: () => unknown): ApiError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.status, 400);
    return error;
  }
  assert.fail('it was not refused');
}

const prompt = 'a lighthouse';

describe('becomes the input of the model:', () => {
  const cases: [id: string, call: Json, input: Json][] = [
    ['sandbox/canvas/text-to-image', {}, {}],
    [
      'sandbox/canvas/text-to-image',
      { n: 2, size: '1024x1024', quality: 'auto', user: 'me', response_format: 'url' },
      { num_images: 2, aspect_ratio: '1:1', resolution: '1k' },
    ],
    [
      'sandbox/canvas/text-to-image',
      { n: null, size: 'auto', stream: false, partial_images: 0, seed: 7, output_format: 'jpeg' },
      { seed: 7, output_format: 'jpeg' },
    ],
    [
      'sandbox/canvas/text-to-image',
      { size: '1536x1024' },
      { aspect_ratio: '3:2', resolution: '2k' },
    ],
    [
      'sandbox/canvas/text-to-image',
      { size: 'auto', resolution: '1k', aspect_ratio: '3:2' },
      { resolution: '1k', aspect_ratio: '3:2' },
    ],
    ['sandbox/canvas/max/text-to-image', { size: '640x480' }, { width: 640, height: 480 }],
    ['sandbox/canvas/text-to-vector', { size: '512x512' }, { image_size: 'square' }],
    ['sandbox-sketch', { n: 1 }, { num_images: 1 }],
    ['comfyui/sdxl', { size: '1024x768' }, { width: 1024, height: 768 }],
    ['fal-ai/flux/schnell', { size: '1024x1024' }, { image_size: 'square_hd' }],
    ['fal-ai/flux-2-pro', { n: 1, size: '1024x768' }, { image_size: 'landscape_4_3' }],
    [
      'fal-ai/bytedance/seedream/v4/text-to-image',
      { size: '2048x1152' },
      { image_size: { width: 2048, height: 1152 } },
    ],
    ['recraft-ai/recraft-v3', { size: '1536x1024' }, { size: '1536x1024' }],
    ['wavespeed-ai/flux-schnell', { size: '1280x720' }, { size: '1280*720' }],
    ['black-forest-labs/flux-dev', { size: '1792x1024' }, { aspect_ratio: '16:9' }],
    ['google/nano-banana-2', { size: '1024x1024' }, { aspect_ratio: '1:1', resolution: '1k' }],
    ['kie/nano-banana-2', { output_format: 'jpeg' }, { output_format: 'jpg' }],
    ['fal-ai/flux/dev', { output_format: 'jpg' }, { output_format: 'jpeg' }],
    [
      'gpt-image-2.5-flare',
      { size: '1024x1024', quality: 'high', background: 'transparent', moderation: 'auto' },
      { quality: 'high', background: 'transparent' },
    ],
    ['gpt-image-2.5-flare', { quality: 'standard', background: 'auto' }, {}],
  ];
  for (const [id, call, input] of cases) {
    test(`${id} ${JSON.stringify(call)}`, () => {
      assert.deepEqual(inputOf('generations', id, { prompt, ...call }), { prompt, ...input });
    });
  }

  const edits: [id: string, call: Json, input: Json][] = [
    ['sandbox/canvas/edit', { image: 'a' }, { image_url: 'a' }],
    [
      'sandbox/canvas/edit',
      { image: ['a', 'b', 'c'], size: '1024x1024' },
      { image_url: 'a', reference_image_urls: ['b', 'c'], aspect_ratio: '1:1' },
    ],
    ['fal-ai/nano-banana-2/edit', { image: 'a', n: 3 }, { image_urls: ['a'], num_images: 3 }],
    [
      'fal-ai/bytedance/seedream/v4/edit',
      { images: [{ image_url: 'a' }, { file_id: 'b' }], size: '512x512', input_fidelity: 'low' },
      { image_urls: ['a', 'b'], image_size: 'square' },
    ],
  ];
  for (const [id, call, input] of edits) {
    test(`${id} ${JSON.stringify(call)}`, () => {
      assert.deepEqual(inputOf('edits', id, { prompt, ...call }), { prompt, ...input });
    });
  }
});

describe('is refused by the name of the field:', () => {
  const canvas = 'sandbox/canvas/text-to-image';
  type RefusedCase = [door: ImagesDoor, id: string, call: Json, param: string, says: RegExp];
  const cases: RefusedCase[] = [
    ['generations', '', {}, 'model', /kind=image/],
    ['generations', 'sandbox/chat', {}, 'model', /chat\/completions/],
    ['generations', 'sandbox/film/text-to-video', {}, 'model', /queue\/sandbox\/film/],
    ['generations', 'sandbox/canvas/edit', {}, 'model', /images\/edits/],
    [
      'generations',
      'sandbox/canvas/upscale',
      {},
      'model',
      /takes no prompt.*to POST \/v1\/queue\/sandbox\/canvas\/upscale\b/,
    ],
    [
      'edits',
      'sandbox/canvas/upscale',
      { image: 'a' },
      'model',
      /takes no prompt.*\/v1\/queue\/sandbox\/canvas\/upscale\b/,
    ],
    [
      'edits',
      canvas,
      { image: 'a' },
      'model',
      /takes no image.*to POST \/v1\/queue\/sandbox\/canvas\/text-to-image\b/,
    ],
    ['generations', canvas, { image: 'a' }, 'image', /images\/edits/],
    ['generations', canvas, { mask: 'a' }, 'mask', /images\/edits/],
    ['generations', canvas, { stream: true }, 'stream', /not streamed/],
    ['generations', canvas, { partial_images: 1 }, 'partial_images', /not streamed/],
    ['generations', canvas, { response_format: 'png' }, 'response_format', /url or b64_json/],
    ['generations', canvas, { n: 0 }, 'n', /integer/],
    ['generations', canvas, { n: '2' }, 'n', /integer/],
    ['generations', 'fal-ai/flux-2-pro', { n: 2 }, 'n', /makes one image a call/],
    ['generations', canvas, { n: 2, num_images: 2 }, 'n', /n or num_images, not both/],
    ['generations', canvas, { size: '1k' }, 'size', /WIDTHxHEIGHT/],
    ['generations', canvas, { size: '0x5' }, 'size', /WIDTHxHEIGHT/],
    ['generations', canvas, { size: 1024 }, 'size', /WIDTHxHEIGHT/],
    ['generations', canvas, { size: '4096x4096' }, 'size', /at most as large as 2048x2048/],
    ['generations', canvas, { size: '1024x1024', aspect_ratio: '1:1' }, 'size', /not both/],
    ...[
      canvas,
      'comfyui/sdxl',
      'recraft-ai/recraft-v3',
      'fal-ai/flux/dev',
      'gpt-image-2.5-flare',
    ].map((id): RefusedCase => [
      'generations',
      id,
      { size: '1024x1024', resolution: '1k' },
      'size',
      /^Send size or resolution, not both\.$/,
    ]),
    [
      'edits',
      'sandbox/canvas/edit',
      { image: 'a', size: '64x64', resolution: '1k' },
      'size',
      /not both/,
    ],
    ['generations', 'comfyui/sdxl', { size: '1024x768', aspect_ratio: '1:1' }, 'size', /not both/],
    [
      'generations',
      'fal-ai/flux/dev',
      { size: '512x512', width: 9 },
      'size',
      /size or width, not both/,
    ],
    [
      'generations',
      'comfyui/sdxl',
      { size: '1020x1020' },
      'size',
      /512 to 1536 pixels in steps of 8/,
    ],
    [
      'generations',
      'comfyui/sdxl',
      { size: '256x256' },
      'size',
      /512 to 1536 pixels in steps of 8/,
    ],
    ['generations', 'fal-ai/flux/dev', { size: '1536x1024' }, 'size', /one of 1024x1024, 512x512/],
    ['generations', 'wavespeed-ai/flux-schnell', { size: '512x512' }, 'size', /1280x720/],
    ['generations', 'kie/nano-banana-2', { size: '1000x500' }, 'size', /aspect ratios 1:1, 2:3/],
    ['generations', 'gpt-image-2.5-flare', { size: '512x512' }, 'size', /images of one size/],
    ['generations', 'gpt-image-2.5-flare', { quality: 'hd' }, 'quality', /low, medium, high/],
    ['generations', canvas, { quality: 'high' }, 'quality', /no input quality.*auto or standard/],
    ['generations', canvas, { style: 'vivid' }, 'style', /Leave it out\.$/],
    ['generations', canvas, { output_format: 'gif' }, 'output_format', /png, jpeg, webp/],
    ['generations', canvas, { output_compression: 50 }, 'output_compression', /or send 100/],
    ['edits', 'sandbox/canvas/edit', {}, 'image', /1 to 16 images/],
    ['edits', 'sandbox/canvas/edit', { image: [] }, 'image', /1 to 16 images/],
    ['edits', 'sandbox/canvas/edit', { image: Array(17).fill('a') }, 'image', /1 to 16/],
    ['edits', 'sandbox/canvas/edit', { image: Array(10).fill('a') }, 'image', /at most 9 images/],
    ['edits', 'sandbox/canvas/edit', { image: ['a', ''] }, 'image[1]', /file_id/],
    [
      'edits',
      'sandbox/canvas/edit',
      { images: [{ image_url: 'a', file_id: 'b' }] },
      'images[0]',
      /file_id/,
    ],
    ['edits', 'sandbox/canvas/edit', { image: 'a', images: ['a'] }, 'images', /not both/],
    ['edits', 'sandbox/canvas/edit', { image: 'a', image_url: 'b' }, 'image', /not both/],
    ['edits', 'sandbox/canvas/edit', { image: 'a', mask: 'b' }, 'mask', /no input mask/],
    ['edits', 'fal-ai/flux-pro/kontext', { image: ['a', 'b'] }, 'image', /takes no more/],
  ];
  for (const [door, id, call, param, says] of cases) {
    test(`${id} ${JSON.stringify(call).slice(0, 80)}`, () => {
      const error = refusal(() => {
        const read = readImagesCall(door, { model: id, prompt, ...call });
        return imagesInput(read, rowOf(id));
      });
      assert.equal(error.param, param);
      assert.match(error.message, says);
      assert.equal(error.code, id === 'sandbox/chat' ? 'use_chat_completions' : 'bad_request');
    });
  }
});

test('a size that OpenAI documents is taken or refused with the sizes that are', () => {
  const sizes = ['1024x1024', '1536x1024', '1024x1536', '1792x1024', '1024x1792', '512x512'];
  let taken = 0;
  for (const row of rows.filter(({ task }) => task === 'text-to-image')) {
    for (const size of sizes) {
      try {
        const input = inputOf('generations', row.id, { prompt, size });
        assert.equal(validateInput(row, input), null, `${row.id} ${size}`);
        assert.ok(price(row, input).price_usd_micro > 0n);
        taken++;
      } catch (error) {
        assert.ok(error instanceof ApiError && error.param === 'size', `${row.id} ${size}`);
      }
    }
  }
  assert.ok(taken > 80, String(taken));
});

test('metadata is taken out of the input, unless the model has such an input', () => {
  const row = rowOf('fal-ai/flux/dev');
  const call = { model: row.id, prompt, metadata: { customer: '42' } };
  const read = readImagesCall('generations', call);
  const { input, metadata } = imagesInput(read, row);
  assert.deepEqual([input, metadata], [{ prompt }, { customer: '42' }]);
  const properties = { ...objectOf(row.input_schema.properties), metadata: { type: 'object' } };
  const own = imagesInput(read, { ...row, input_schema: { ...row.input_schema, properties } });
  assert.deepEqual([own.input.metadata, own.metadata], [{ customer: '42' }, null]);
  for (const bad of ['a', ['a'], { customer: 42 }, { customer: { id: '42' } }]) {
    const error = refusal(() =>
      imagesInput(readImagesCall('generations', { ...call, metadata: bad }), row),
    );
    assert.equal(error.param, 'metadata');
  }
});

test("an error of the queue is told with the call's own field", () => {
  const { input, from } = imagesInput(
    readImagesCall('generations', { model: 'fal-ai/flux/dev', prompt, n: 9, seed: -1 }),
    rowOf('fal-ai/flux/dev'),
  );
  const error = refusal(() => price(rowOf('fal-ai/flux/dev'), input));
  assert.equal(error.param, 'num_images');
  const told = atOwnField(error, from);
  assert.deepEqual([told.param, told.message], ['n', 'n must be an integer from 1 to 4.']);
  const other = new ApiError('invalid_input', { param: 'seed' });
  assert.equal(atOwnField(other, from), other);
});

test('the texts of a form become values of the JSON types', () => {
  const row = rowOf('sandbox/canvas/edit');
  const cases: [field: string, text: string, value: unknown][] = [
    ['n', '2', 2],
    ['n', '2x', '2x'],
    ['stream', 'false', false],
    ['seed', '-7', -7],
    ['prompt', '7', '7'],
    ['unknown', '7', '7'],
  ];
  for (const [field, text, value] of cases) assert.equal(formValue(field, text, row), value);
  assert.deepEqual(formValue('metadata', '{"customer":"42"}', row), { customer: '42' });
  assert.equal(formValue('metadata', '{', row), '{');
  assert.equal(formValue('seed', '7', undefined), '7');
});

test('whatever is sent is translated or refused, and a translation is the same each time', () => {
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom('auto', '1024x1024', 'high', 'png', 1, 2, true, null, ['a'], { file_id: 'b' }),
  );
  const names =
    'prompt n size quality background moderation output_format style output_compression ' +
    'response_format user stream partial_images image images mask input_fidelity image_url ' +
    'num_images resolution seed constructor toString __proto__ aspect_ratio webhook_url metadata';
  const bodies = fc.dictionary(fc.oneof(fc.constantFrom(...names.split(' ')), fc.string()), junk, {
    maxKeys: 8,
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...rows),
      fc.constantFrom<ImagesDoor>('generations', 'edits'),
      bodies,
      (row, door, body) => {
        const call = { ...body, model: row.id };
        try {
          const read = readImagesCall(door, call);
          const { input, from } = imagesInput(read, row);
          assert.deepEqual(imagesInput(read, row).input, input);
          for (const name of Object.keys(from)) assert.ok(Object.hasOwn(input, name));
          assert.equal(row.kind, 'image');
        } catch (error) {
          assert.ok(error instanceof ApiError, String(error));
          assert.ok(error.param !== null && error.message.length < 1_000);
        }
      },
    ),
    { numRuns: isLong ? 5_000 : 400 },
  );
});
