import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withService } from '../../kit/with-service.ts';
import { card } from '../../worker/floor.ts';

/** A size that a caller states means the same at every door, whatever fields the model has. */

const row = (id: string, fields: string, price = '{ unit: image, usd: "0.01" }', more = '') => `
  - id: fake/${id}
    kind: image
    task: text-to-image
    name: ${id}
    price: ${price}
    max: 4
    max_unit: images
    upstream_model: ${id}${more}
    input_schema:
      type: object
      required: [prompt]
      properties: { prompt: { type: string }, num_images: { type: integer }${fields} }
    example: { prompt: a cat }
`;
const twoPrices = '{ unit: image, usd_by_resolution: { 1k: "0.03", 2k: "0.06" } }';
const resolution = 'resolution: { enum: [1k, 2k] }';
const ratio = 'aspect_ratio: { enum: ["1:1", "16:9", "9:16", "3:2"] }';
const catalog = `
upstream: fake
models:
${row('both', `, ${resolution}, ${ratio}`, twoPrices, '\n    resolutions: [1k, 2k]')}
${row('closed', `, ${resolution}, ${ratio}`, twoPrices, '\n    resolutions: [1k, 2k]').replace(
  'type: object',
  'type: object\n      additionalProperties: false',
)}
${row('only-k', `, ${resolution}`, twoPrices, '\n    resolutions: [1k, 2k]')}
${row('ratio', `, ${ratio}`)}
${row('sides', ', width: { type: integer, minimum: 256, maximum: 2048, multipleOf: 8 }, height: { type: integer, minimum: 256, maximum: 2048, multipleOf: 8 }')}
${row('named', ', image_size: { anyOf: [{ enum: [square_hd, square, landscape_16_9] }, { type: object, required: [width, height], properties: { width: { type: integer, maximum: 1536 }, height: { type: integer, maximum: 1536 } } }] }')}
${row('text', ', size: { enum: [1024x1024, 1536x1024, 1024x1536] }')}
${row('star', ', size: { enum: ["1024*1024", "1280*720"] }')}
${row('none', '')}
`;

const { service, account } = withService({ catalog, account: { usd: 100, open_jobs: 1_000 } });

type Input = Record<string, unknown>;
const call = (path: string, body: object) => account.post(path, { ...body });

const square = { width: 1024, height: 1024 };
/** Each model gets these fields for a size that is stated in one of these ways. The price is in thousandths of a USD. */
const understood: [model: string, stated: Input[], sent: Input, price: number][] = [
  [
    'both',
    [
      { size: '1024x1024' },
      { image_size: square },
      { image_size: 'square_hd' },
      { image_size: '1024x1024' },
      square,
    ],
    { resolution: '1k', aspect_ratio: '1:1' },
    30,
  ],
  [
    'both',
    [{ size: '512x512' }, { image_size: 'square' }],
    { resolution: '1k', aspect_ratio: '1:1' },
    30,
  ],
  [
    'both',
    [{ size: '1792x1024' }, { size: '2048*1152' }, { width: 2048, height: 1152 }],
    { resolution: '2k', aspect_ratio: '16:9' },
    60,
  ],
  ['both', [{ image_size: 'portrait_16_9' }], { resolution: '1k', aspect_ratio: '9:16' }, 30],
  [
    'both',
    [{ image_size: '16:9' }, { size: '16:9' }],
    { aspect_ratio: '16:9', resolution: '2k' },
    60,
  ],
  [
    'both',
    [
      { size: '1024x1024', resolution: '1k' },
      { image_size: square, size: '1024x1024' },
      { aspect_ratio: '1:1', ...square },
    ],
    { resolution: '1k', aspect_ratio: '1:1' },
    30,
  ],
  [
    'closed',
    [{ size: '1024x1024' }, { image_size: square }, square],
    { resolution: '1k', aspect_ratio: '1:1' },
    30,
  ],
  ['only-k', [{ size: '800x1200' }, { image_size: 'square_hd' }], { resolution: '1k' }, 30],
  ['only-k', [{ size: '1536x1024' }], { resolution: '2k' }, 60],
  ['ratio', [{ size: '1536x1024' }, { width: 1500, height: 1000 }], { aspect_ratio: '3:2' }, 10],
  [
    'sides',
    [
      { size: '1024x768' },
      { image_size: 'landscape_4_3' },
      { image_size: { width: 1024, height: 768 } },
      { width: 1024, height: 768 },
    ],
    { width: 1024, height: 768 },
    10,
  ],
  [
    'named',
    [{ size: '1024x1024' }, square, { image_size: 'square_hd' }, { image_size: '1024x1024' }],
    { image_size: 'square_hd' },
    10,
  ],
  [
    'named',
    [{ size: '800x600' }, { width: 800, height: 600 }, { image_size: { width: 800, height: 600 } }],
    { image_size: { width: 800, height: 600 } },
    10,
  ],
  [
    'text',
    [{ image_size: square }, square, { size: '1024x1024' }, { image_size: 'square_hd' }],
    { size: '1024x1024' },
    10,
  ],
  [
    'star',
    [{ size: '1280x720' }, { image_size: { width: 1280, height: 720 } }, { size: '1280*720' }],
    { size: '1280*720' },
    10,
  ],
];

describe('a stated size', () => {
  for (const [model, ways, sent, price] of understood)
    for (const stated of ways)
      test(`${model}: ${JSON.stringify(stated)}`, async () => {
        const input = { prompt: 'x', num_images: 1, ...stated };
        const model_id = `fake/${model}`;
        const amount = String(price * 1_000);
        const estimate = await call('/v1/estimate', { model_id, input });
        assert.equal(estimate.status, 200, estimate.text);
        assert.equal(estimate.body.price_usd_micro, amount);
        assert.equal(estimate.body.unknown_inputs, undefined, estimate.text);
        for (const path of ['/v1/queue/', '/fal/queue.fal.run/']) {
          const reply = await call(`${path}${model_id}`, input);
          assert.ok(reply.status < 300, reply.text);
          assert.equal(reply.headers.get('x-ignored-fields'), null);
          await service.work();
          const { input: got } = service.fake.starts.at(-1)!;
          assert.deepEqual(got, { prompt: 'x', num_images: 1, ...sent });
          const shown = await card(account, reply.body.request_id);
          assert.deepEqual([shown.input, shown.quoted_usd_micro], [input, amount]);
        }
      });

  test('is unknown to a model that takes none, and an auto one is none', async () => {
    for (const [model, stated, unknown] of [
      ['none', { size: '1024x1024' }, ['size']],
      ['none', { image_size: square, width: 5 }, ['image_size', 'width']],
      ['both', { size: 'auto' }, ['size']],
      ['both', { image_size: 'auto' }, ['image_size']],
      ['both', { size: 'large' }, ['size']],
      ['both', { width: 100 }, ['width']],
    ] as const) {
      const input = { prompt: 'x', ...stated };
      const estimate = await call('/v1/estimate', { model_id: `fake/${model}`, input });
      const named = estimate.body.unknown_inputs?.map(({ field }: any) => field);
      assert.deepEqual(named, unknown, estimate.text);
    }
  });

  const refused: [model: string, stated: Input, says: RegExp][] = [
    [
      'both',
      { size: '4096x4096' },
      /size must be at most as large as 2048x2048; resolution is one of 1k, 2k/,
    ],
    [
      'both',
      { image_size: { width: 1000, height: 300 } },
      /image_size must be of one of the aspect ratios 1:1, 16:9, 9:16, 3:2/,
    ],
    [
      'sides',
      { size: '1000x99' },
      /size must be WIDTHxHEIGHT with sides from 256 to 2048 pixels in steps of 8/,
    ],
    ['text', { width: 1, height: 1 }, /width must be one of 1024x1024, 1536x1024, 1024x1536/],
    ['named', { size: '4000x4000' }, /size must be one of 1024x1024, 512x512, 1024x576/],
    ['both', { image_size: 'huge' }, /image_size must be WIDTHxHEIGHT/],
    ['both', { image_size: { width: '1024', height: 1024 } }, /image_size must be WIDTHxHEIGHT/],
    ['both', { width: 0, height: 1024 }, /width must be an integer, in pixels/],
    ['only-k', { size: '16:9' }, /size must be WIDTHxHEIGHT/],
    ['both', { size: '1024x1024', image_size: 'square' }, /image_size differs from size/],
    [
      'both',
      { size: '1024x1024', width: 1024, height: 1025 },
      /size differs from width and height/,
    ],
    ['both', { size: '1024x1024', resolution: '2k' }, /size differs from resolution/],
    [
      'both',
      { image_size: 'square_hd', aspect_ratio: '16:9' },
      /image_size differs from aspect_ratio/,
    ],
    ['named', { image_size: 'square', size: '1024x1024' }, /image_size differs from size/],
  ];
  for (const [model, stated, says] of refused)
    test(`${model} refuses ${JSON.stringify(stated)} by its values`, async () => {
      const starts = service.fake.starts.length;
      const { reserved } = await service.balance(account);
      const input = { prompt: 'x', ...stated };
      const replies = [
        await call('/v1/estimate', { model_id: `fake/${model}`, input }),
        await call(`/v1/queue/fake/${model}`, input),
      ];
      for (const reply of replies) {
        assert.deepEqual([reply.status, reply.body.error.code], [400, 'invalid_input'], reply.text);
        assert.match(reply.body.error.message, says);
      }
      const fal = await call(`/fal/queue.fal.run/fake/${model}`, input);
      assert.equal(fal.status, 422, fal.text);
      assert.match(fal.body.detail[0].msg, new RegExp(says.source.replace(/^\w+ /, '')));
      assert.equal(service.fake.starts.length, starts);
      assert.equal((await service.balance(account)).reserved, reserved);
    });
});
