import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { boundPromptTokens } from '../../../src/core/chat/tokens.ts';
import { promptIn } from '../../kit/chat-apis.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';

/** An estimate costs nothing, and is to the micro-USD what a submit of the same input reserves. */

const catalog = `
upstream: fake
owned_by: fake
models:
  - id: fake/image
    kind: image
    task: text-to-image
    name: Image
    description: With pictures to refer to.
    price: { unit: image, usd: "0.012345" }
    extras:
      - { per_item: reference_urls, free: 1, add_usd: "0.001", label: reference images }
    max: 4
    max_unit: images
    upstream_model: image
    input_schema:
      type: object
      properties: { prompt: { type: string }, reference_urls: { type: array } }
      required: [prompt]
    example: { prompt: a cat }
  - id: fake/film
    kind: video
    task: text-to-video
    name: Film
    description: By second and resolution, with sound for more.
    price: { unit: sec, usd_by_resolution: { 480p: "0.05", 720p: "0.100001" } }
    extras:
      - { when: generate_audio, equals: true, default: false, add_usd: "0.02", label: sound }
    max: 10
    max_unit: seconds
    resolutions: [480p, 720p]
    upstream_model: film
    input_schema:
      type: object
      properties: { prompt: { type: string }, resolution: {}, generate_audio: { type: boolean } }
      required: [prompt]
    example: { prompt: a cat }
  - id: fake/upscale
    kind: image
    task: upscale
    name: Upscale
    description: By the megapixel.
    price: { unit: MP, usd: "0.003" }
    max: 0
    max_unit: none
    resolutions: [1k, 2k]
    upstream_model: upscale
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a cat }
  - id: fake/edit
    kind: image
    task: edit
    name: Edit
    description: One price for each.
    price: { unit: request, usd: "0.5" }
    max: 1
    max_unit: count
    upstream_model: edit
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a cat }
  - id: fake/chat
    kind: text
    task: chat
    name: Chat
    description: A dollar in, two out.
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 4096
    max_unit: tokens
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 8192
    on_disconnect: stop
    input_schema: { type: object, properties: { messages: { type: array } }, required: [messages] }
    example: { messages: [{ role: user, content: hello }] }
`;

const { service, account } = withService({ catalog });

function estimate(model_id: string, input: unknown) {
  return account.post('/v1/estimate', { model_id, input });
}

interface PriceCase {
  name: string;
  model_id: string;
  input: Record<string, unknown>;
  price: string;
  assumptions: Record<string, unknown>;
}

const prompt = 'a cat';
const priced: PriceCase[] = [
  {
    name: 'one image where no count is told',
    model_id: 'fake/image',
    input: { prompt },
    price: '12345',
    assumptions: { num_images: 1 },
  },
  {
    name: 'images by their count',
    model_id: 'fake/image',
    input: { prompt, num_images: 4 },
    price: '49380',
    assumptions: {},
  },
  {
    name: 'a free reference',
    model_id: 'fake/image',
    input: { prompt, num_images: 1, reference_urls: ['https://93.184.216.34/a'] },
    price: '12345',
    assumptions: {},
  },
  {
    name: 'references beyond the free one',
    model_id: 'fake/image',
    input: {
      prompt,
      num_images: 2,
      reference_urls: [
        'https://93.184.216.34/a',
        'https://93.184.216.34/b',
        'https://93.184.216.34/c',
      ],
    },
    price: '28690',
    assumptions: {},
  },
  {
    name: 'the dearest five seconds where nothing is told',
    model_id: 'fake/film',
    input: { prompt },
    price: '500005',
    assumptions: { resolution: '720p', duration_seconds: 5, generate_audio: false },
  },
  {
    name: 'the resolution that is told',
    model_id: 'fake/film',
    input: { prompt, resolution: '480p' },
    price: '250000',
    assumptions: { duration_seconds: 5, generate_audio: false },
  },
  {
    name: 'a fraction of a second, rounded up',
    model_id: 'fake/film',
    input: { prompt, resolution: '720p', duration_seconds: 0.1, generate_audio: false },
    price: '10001',
    assumptions: {},
  },
  {
    name: 'sound',
    model_id: 'fake/film',
    input: { prompt, resolution: '480p', duration_seconds: 3, generate_audio: true },
    price: '210000',
    assumptions: {},
  },
  {
    name: 'the longest',
    model_id: 'fake/film',
    input: { prompt, resolution: '720p', duration_seconds: 10, generate_audio: true },
    price: '1200010',
    assumptions: {},
  },
  {
    name: 'megapixels of a size',
    model_id: 'fake/upscale',
    input: { prompt, image_size: { width: 1000, height: 500 }, num_images: 1 },
    price: '1500',
    assumptions: {},
  },
  {
    name: 'one price for any',
    model_id: 'fake/edit',
    input: { prompt },
    price: '500000',
    assumptions: {},
  },
  {
    name: 'fields the price does not know',
    model_id: 'fake/edit',
    input: { prompt, seed: 7, deep: { a: [1] } },
    price: '500000',
    assumptions: {},
  },
];

describe('an estimate', () => {
  for (const { name, model_id, input, price, assumptions } of priced) {
    test(`of ${name} is what a submit reserves`, async () => {
      const earlier = await traces(service);
      const { status, body } = await estimate(model_id, input);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.price_usd_micro, price);
      assert.deepEqual(body.assumptions, assumptions);
      assert.deepEqual(await traces(service), earlier);

      const held = await service.balance(account);
      const submitted = await account.post(`/v1/queue/${model_id}`, input);
      assert.equal(submitted.status, 202, submitted.text);
      assert.equal(submitted.body.quoted_usd_micro, price);
      const { available, reserved } = await service.balance(account);
      assert.equal(held.available - available, BigInt(price));
      assert.equal(reserved - held.reserved, BigInt(price));
    });

    test(`of ${name} adds up`, async () => {
      const { body } = await estimate(model_id, input);
      const sum = body.breakdown.reduce(
        (total: bigint, line: { amount_usd_micro: string }) =>
          total + BigInt(line.amount_usd_micro),
        0n,
      );
      assert.equal(String(sum), body.price_usd_micro);
      const rates = body.breakdown.reduce(
        (total: bigint, line: { unit_price_usd_micro: string }) =>
          total + BigInt(line.unit_price_usd_micro),
        0n,
      );
      assert.equal(String(rates), body.unit_price_usd_micro);
    });
  }

  test('has exactly the documented fields', async () => {
    const { body } = await estimate('fake/film', {
      prompt,
      resolution: '480p',
      duration_seconds: 2,
      generate_audio: true,
    });
    assert.deepEqual(body, {
      model_id: 'fake/film',
      kind: 'video',
      price_usd_micro: '140000',
      unit: 'sec',
      unit_price_usd_micro: '70000',
      quantity: 2,
      breakdown: [
        {
          label: 'seconds at 480p',
          quantity: 2,
          unit_price_usd_micro: '50000',
          amount_usd_micro: '100000',
        },
        { label: 'sound', quantity: 2, unit_price_usd_micro: '20000', amount_usd_micro: '40000' },
      ],
      assumptions: {},
    });
  });

  test('does not check whether the input would be accepted, only its price', async () => {
    const { status, body } = await estimate('fake/image', {});
    assert.equal(status, 200);
    assert.equal(body.price_usd_micro, '12345');
  });

  test('takes a missing input for an empty one', async () => {
    const reply = await account.post('/v1/estimate', { model_id: 'fake/edit' });
    assert.equal(reply.body.price_usd_micro, '500000');
  });

  test('needs no balance', async () => {
    const poor = await service.account({ usd: 0 });
    const body = { model_id: 'fake/edit', input: { prompt } };
    assert.equal((await poor.post('/v1/estimate', body)).status, 200);
  });
});

describe('an estimate of text', () => {
  const tokens: [number, number, string][] = [
    [0, 0, '0'],
    [1, 0, '1'],
    [0, 1, '2'],
    [1_000_000, 1_000_000, '3000000'],
    [333_333, 666_667, '1666667'],
  ];
  for (const [input_tokens, output_tokens, price] of tokens) {
    test(`of ${input_tokens} and ${output_tokens} tokens is ${price}`, async () => {
      const { body } = await estimate('fake/chat', { input_tokens, output_tokens });
      assert.equal(body.price_usd_micro, price);
      assert.equal(body.kind, 'text');
      assert.equal(body.unit, '1M tokens');
      assert.deepEqual(
        body.breakdown.map(({ label }: { label: string }) => label),
        ['input tokens', 'output tokens'],
      );
    });
  }

  test('of the bound of a prompt and of max_tokens is what a chat reserves', async () => {
    const messages = [{ role: 'user', content: 'hello there, how do you do?' }];
    const body = { model: 'fake/chat', messages, max_tokens: 100 };
    const chat = await account.post('/v1/chat/completions', body);
    assert.equal(chat.status, 200, chat.text);
    const id = chat.body.id.replace('chatcmpl-', '');
    const card = await account.get(`/v1/requests/${id}`);
    const input_tokens = boundPromptTokens(promptIn({ messages }), { context_tokens: 100_000 });
    const { body: estimated } = await estimate('fake/chat', { input_tokens, output_tokens: 100 });
    assert.equal(card.body.quoted_usd_micro, estimated.price_usd_micro);
    assert.equal(card.body.charged_usd_micro, '9');
  });

  const wrong: [string, unknown, string][] = [
    ['none', {}, 'input_tokens'],
    ['one of the two', { output_tokens: 5 }, 'input_tokens'],
    ['the other one', { input_tokens: 5 }, 'output_tokens'],
    ['a fraction', { input_tokens: 1.5, output_tokens: 5 }, 'input_tokens'],
    ['below zero', { input_tokens: 1, output_tokens: -1 }, 'output_tokens'],
    ['a text', { input_tokens: '5', output_tokens: 5 }, 'input_tokens'],
    ['null', { input_tokens: null, output_tokens: 5 }, 'input_tokens'],
    ['more than anybody has', { input_tokens: 1, output_tokens: 2 ** 53 }, 'output_tokens'],
  ];
  for (const [name, input, param] of wrong) {
    test(`cannot be made of ${name}`, async () => {
      assert.equal(assertRefused(await estimate('fake/chat', input), 'unpriceable').param, param);
    });
  }
});

describe('no estimate', () => {
  const refused: [string, unknown, 'unknown_model' | 'unpriceable', string][] = [
    ['without a model', { input: {} }, 'unknown_model', 'model_id'],
    ['of a model that is no text', { model_id: 7, input: {} }, 'unknown_model', 'model_id'],
    [
      'of a model that is not listed',
      { model_id: 'fake/none', input: {} },
      'unknown_model',
      'model_id',
    ],
    ['of an input that is a text', { model_id: 'fake/edit', input: 'x' }, 'unpriceable', 'input'],
    [
      'above the maximum',
      { model_id: 'fake/film', input: { duration_seconds: 10.001 } },
      'unpriceable',
      'duration_seconds',
    ],
    [
      'of a picture beyond all measure',
      { model_id: 'fake/upscale', input: { image_size: { width: 60_000, height: 60_000 } } },
      'unpriceable',
      'image_size',
    ],
  ];
  for (const [name, body, code, param] of refused) {
    test(`is made ${name}`, async () => {
      const reply = await account.post('/v1/estimate', body);
      assert.equal(assertRefused(reply, code).param, param);
    });
  }
});
