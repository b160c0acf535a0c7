import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { isLong } from '../../../test/kit/long.ts';
import { parseCatalogFile } from '../catalog/catalog-file.ts';
import { catalogEntry } from '../catalog/catalog-entry.ts';
import type { Extra, Model, PriceRules } from '../catalog/catalog.ts';
import { keysOf } from '../../lib/records.ts';
import { ApiError } from '../errors.ts';
import { divideUp, parseUsd } from './money.ts';
import { charge, price, priceTokens, type ActualUse, type Quote } from './price.ts';
import {
  countMax,
  durationSecondsMax,
  pixelsMax,
  priceMaxUsdMicro,
  sideMax,
  tokensMax,
  type Input,
  type PricingRow,
} from './priced-fields.ts';
import { quoteFromJson, quoteToJson, shownQuote } from './quote-json.ts';
import { pixelsOf } from './size.ts';

const none = { extras: [], max: 0, resolutions: [] };

function row(kind: PricingRow['kind'], max_unit: string, rules: Partial<PriceRules>): PricingRow {
  return { kind, max_unit, price: { unit: 'image', ...none, ...rules } };
}

const references: Extra = {
  kind: 'per_item',
  field: 'reference_image_urls',
  free: 1,
  add_usd_micro: 2_000n,
  label: 'each further reference',
};
const audio: Extra = {
  kind: 'when',
  field: 'generate_audio',
  equals: true,
  default: false,
  add_usd_micro: 50_000n,
  label: 'with audio',
};

const models = {
  image: row('image', 'images', { unit_price_usd_micro: 10_000n, max: 4 }),
  image2: row('image', 'images', {
    by_resolution: { '1k': 10_000n, '2k': 25_000n },
    resolutions: ['1k', '2k'],
    max: 4,
  }),
  mixed: row('image', 'images', {
    unit_price_usd_micro: 30_000n,
    by_resolution: { '1k': 10_000n },
    resolutions: ['1k', '2k', '4k'],
  }),
  video: row('video', 'seconds', { unit: 'sec', unit_price_usd_micro: 40_000n, max: 10 }),
  short: row('video', 'seconds', { unit: 'sec', unit_price_usd_micro: 40_000n, max: 4 }),
  open: row('video', 'seconds', { unit: 'sec', unit_price_usd_micro: 40_000n }),
  video2: row('video', 'seconds', {
    unit: 'sec',
    by_resolution: { '720p': 100_000n, '1080p': 200_000n },
    resolutions: ['720p', '1080p'],
    max: 15,
    extras: [audio],
  }),
  request: row('image', 'images', { unit: 'request', unit_price_usd_micro: 7n, max: 4 }),
  extras: row('image', 'images', { unit_price_usd_micro: 10_000n, extras: [references, audio] }),
  mp: row('image', 'images', {
    unit: 'MP',
    unit_price_usd_micro: 20_000n,
    resolutions: ['1k', '2k'],
    max: 4,
  }),
  mpFree: row('image', 'megapixels', { unit: 'MP', unit_price_usd_micro: 20_000n, max: 8 }),
  mpRates: row('image', 'images', {
    unit: 'MP',
    by_resolution: { '1k': 30_000n, '4k': 10_000n },
    resolutions: ['1k', '4k'],
  }),
  text: row('text', 'tokens', {
    unit: '1M tokens',
    input_usd_micro: 100_000n,
    output_usd_micro: 400_000n,
  }),
} satisfies Record<string, PricingRow>;

type Name = keyof typeof models;

function refusal(model: PricingRow, input: unknown): ApiError {
  try {
    price(model, input as Input);
  } catch (error) {
    assert.ok(error instanceof ApiError, `threw ${String(error)}`);
    assert.equal(error.code, 'unpriceable');
    return error;
  }
  assert.fail(`was priced: ${JSON.stringify(input)}`);
}

describe('what a request costs', () => {
  type Row = [what: string, Input, price: bigint, quantity: number, assumed?: object];
  const two = { width: 1000, height: 500 };
  const table: Partial<Record<Name, Row[]>> = {
    image: [
      ['one image where no number is said', {}, 10_000n, 1, { num_images: 1 }],
      ['each image', { num_images: 3 }, 30_000n, 3],
    ],
    image2: [
      ['the asked resolution', { num_images: 2, resolution: '1k' }, 20_000n, 2],
      [
        'the dearest resolution if the input names none',
        { num_images: 1 },
        25_000n,
        1,
        { resolution: '2k' },
      ],
    ],
    mixed: [
      [
        'the general price for a resolution without its own',
        { num_images: 1, resolution: '4k' },
        30_000n,
        1,
      ],
      [
        'the general price if no other is higher',
        { num_images: 1 },
        30_000n,
        1,
        { resolution: '2k' },
      ],
    ],
    video: [
      ['each second', { duration_seconds: 8 }, 320_000n, 8],
      ['part of a second exactly', { duration_seconds: 4.2 }, 168_000n, 4.2],
      ['a ten-millionth of a second rounded up', { duration_seconds: 0.0000001 }, 1n, 1e-7],
      ['the smallest number rounded up', { duration_seconds: 5e-324 }, 1n, 5e-324],
      ['4.9999999 seconds just under 5', { duration_seconds: 4.9999999 }, 200_000n, 4.9999999],
      ['5 seconds where no length is said', {}, 200_000n, 5, { duration_seconds: 5 }],
    ],
    short: [['the longest length where that is under 5', {}, 160_000n, 4, { duration_seconds: 4 }]],
    open: [['up to the ceiling where max is 0', { duration_seconds: 3600 }, 144_000_000n, 3600]],
    video2: [
      [
        'length and resolution',
        { duration_seconds: 2, resolution: '720p' },
        200_000n,
        2,
        { generate_audio: false },
      ],
      [
        'the extra of a field with its value',
        { duration_seconds: 2, resolution: '720p', generate_audio: true },
        300_000n,
        2,
      ],
    ],
    request: [
      ['one request, whatever it asks for', { num_images: 4, duration_seconds: 60 }, 7n, 1],
    ],
    extras: [
      [
        'no extra within the free items',
        { num_images: 1, reference_image_urls: ['a'], generate_audio: false },
        10_000n,
        1,
      ],
      [
        'each item beyond the free ones, per image',
        { num_images: 2, reference_image_urls: ['a', 'b', 'c'], generate_audio: false },
        28_000n,
        2,
      ],
      [
        'one text as one item',
        { num_images: 1, reference_image_urls: 'a', generate_audio: false },
        10_000n,
        1,
      ],
      [
        'all extras together',
        { num_images: 1, reference_image_urls: ['a', 'b'], generate_audio: true },
        62_000n,
        1,
      ],
    ],
    mp: [
      ['the pixels of image_size', { image_size: two, num_images: 1 }, 10_000n, 0.5],
      ['the pixels of width and height', { ...two, num_images: 3 }, 30_000n, 1.5],
      [
        'the pixels of both where they agree',
        { ...two, image_size: two, num_images: 1 },
        10_000n,
        0.5,
      ],
      ['the pixels of a size in words', { image_size: '1000x500', num_images: 1 }, 10_000n, 0.5],
      ['the pixels of a named size', { image_size: 'square', num_images: 1 }, 5_243n, 0.262144],
      [
        'the pixels of the resolution',
        { resolution: '1k' },
        20_972n,
        1.048576,
        { megapixels: 1.048576, num_images: 1 },
      ],
      [
        'the largest offered picture where nothing is said',
        { num_images: 2 },
        167_773n,
        8.388608,
        { resolution: '2k', megapixels: 4.194304 },
      ],
      [
        'size before resolution',
        { image_size: two, resolution: '2k', num_images: 1 },
        10_000n,
        0.5,
      ],
    ],
    mpRates: [
      [
        'the highest product of rate and pixels',
        { num_images: 1 },
        167_773n,
        16.777216,
        { resolution: '4k', megapixels: 16.777216 },
      ],
      [
        'the dearest rate if the input states its size',
        { num_images: 1, image_size: two },
        15_000n,
        0.5,
        { resolution: '1k' },
      ],
    ],
    mpFree: [
      [
        'a size without offered resolutions',
        { image_size: '2000x2000', num_images: 2 },
        160_000n,
        8,
      ],
    ],
    text: [
      [
        'both kinds of tokens, rounded up once',
        { input_tokens: 1, output_tokens: 1 },
        1n,
        0.000002,
      ],
      ['a million of each', { input_tokens: 1e6, output_tokens: 1e6 }, 500_000n, 2],
      ['nothing for no tokens', { input_tokens: 0, output_tokens: 0 }, 0n, 0],
    ],
  };
  for (const model of keysOf(table))
    for (const [name, input, amount, quantity, assumptions = {}] of table[model]!)
      test(name, () => {
        const quote = price(models[model], input);
        assert.equal(quote.price_usd_micro, amount);
        assert.equal(quote.quantity, quantity);
        assert.deepEqual(quote.assumptions, assumptions);
      });

  test('a field that is not of pricing changes nothing', () => {
    const plain = price(models.video2, { duration_seconds: 2 });
    const input = {
      duration_seconds: 2,
      prompt: 'x',
      price_usd_micro: '1',
      quantity: 0,
      max: 99,
      resolutions: ['1k'],
      unit: 'request',
      assumptions: 1,
    };
    assert.deepEqual(price(models.video2, input), plain);
  });

  test("the caller's input stays as it was", () => {
    const input = Object.freeze({ reference_image_urls: Object.freeze(['a', 'b']) });
    assert.doesNotThrow(() => price(models.extras, input));
  });

  test('resolution is free text where the row lists none', () => {
    assert.equal(price(models.image, { resolution: 'huge' }).price_usd_micro, 10_000n);
  });

  test('the open resolution is chosen with the extras in the rate', () => {
    const extras: Extra[] = [{ ...audio, add_usd_micro: 1n, default: true }];
    const free = row('image', 'images', {
      unit: 'MP',
      by_resolution: { '1k': 3n, '2k': 0n },
      resolutions: ['1k', '2k'],
      extras,
    });
    // 1.05 megapixels at 3 + 1, or 4.2 at 0 + 1: without the extra 1k would be the dearer.
    assert.deepEqual(price(free, { num_images: 1 }).assumptions.resolution, '1k');
    const dear = {
      ...free,
      price: { ...free.price, extras: [{ ...extras[0]!, add_usd_micro: 9n }] },
    };
    assert.deepEqual(price(dear, { num_images: 1 }).assumptions.resolution, '2k');
  });

  test('a field that every object inherits counts as omitted', () => {
    const extras: Extra[] = [
      { ...references, field: 'constructor', free: 0 },
      { ...audio, field: 'toString' },
    ];
    const model = row('image', 'images', { unit_price_usd_micro: 1n, extras });
    assert.equal(price(model, { num_images: 1 }).price_usd_micro, 1n);
  });

  test('an extra without a default adds nothing when its field is omitted', () => {
    const extras: Extra[] = [{ ...audio, default: undefined }];
    const quote = price(row('image', 'images', { unit_price_usd_micro: 1n, extras }), {
      num_images: 1,
    });
    assert.deepEqual([quote.price_usd_micro, quote.assumptions], [1n, {}]);
  });

  test('an extra is paid by default where its default is its value', () => {
    const extras: Extra[] = [{ ...audio, default: true }];
    const model = row('image', 'images', { unit_price_usd_micro: 1n, extras });
    assert.equal(price(model, {}).price_usd_micro, 50_001n);
    assert.equal(price(model, { generate_audio: false }).price_usd_micro, 1n);
  });
});

describe('the lines of a quote', () => {
  test('name the rate, the extras, and add up', () => {
    const quote = price(models.extras, {
      num_images: 2,
      reference_image_urls: ['a', 'b', 'c'],
      generate_audio: true,
    });
    assert.deepEqual(quote.breakdown, [
      { label: 'images', quantity: 2, unit_price_usd_micro: 10_000n, amount_usd_micro: 20_000n },
      {
        label: 'each further reference × 2',
        quantity: 2,
        unit_price_usd_micro: 4_000n,
        amount_usd_micro: 8_000n,
      },
      {
        label: 'with audio',
        quantity: 2,
        unit_price_usd_micro: 50_000n,
        amount_usd_micro: 100_000n,
      },
    ]);
    assert.equal(quote.unit_price_usd_micro, 64_000n);
    assert.equal(quote.price_usd_micro, 128_000n);
  });

  test('give a rounded-up micro-USD to the line that passes it', () => {
    const extras: Extra[] = [{ ...audio, add_usd_micro: 3n, default: true }];
    const model = row('video', 'seconds', { unit: 'sec', unit_price_usd_micro: 3n, extras });
    const { breakdown, price_usd_micro } = price(model, { duration_seconds: 0.1 });
    assert.deepEqual(
      breakdown.map((line) => line.amount_usd_micro),
      [1n, 0n],
    );
    assert.equal(price_usd_micro, 1n);
  });

  test('say the resolution where it decides the rate, and only there', () => {
    const label = (name: Name, input: Input) => price(models[name], input).breakdown[0]!.label;
    assert.equal(label('image2', { resolution: '1k' }), 'images at 1k');
    assert.equal(label('mp', { resolution: '1k' }), 'megapixels');
  });

  test('of chats names tokens of each kind, and nothing for what is none', () => {
    const { breakdown, price_usd_micro } = price(models.text, {
      input_tokens: 0,
      output_tokens: 9,
    });
    assert.deepEqual(
      breakdown.map((line) => line.amount_usd_micro),
      [0n, price_usd_micro],
    );
  });

  test('at the list price names no multiplier', () => {
    assert.equal('price_ppm' in price(models.text, { input_tokens: 1, output_tokens: 1 }), false);
  });

  test('show input and output tokens apart, and the dearer rate as the unit price', () => {
    const quote = price(models.text, { input_tokens: 15, output_tokens: 5 });
    assert.deepEqual(quote.breakdown, [
      {
        label: 'input tokens',
        quantity: 0.000015,
        unit_price_usd_micro: 100_000n,
        amount_usd_micro: 2n,
      },
      {
        label: 'output tokens',
        quantity: 0.000005,
        unit_price_usd_micro: 400_000n,
        amount_usd_micro: 2n,
      },
    ]);
    assert.equal(quote.price_usd_micro, 4n);
    assert.equal(quote.unit_price_usd_micro, 400_000n);
  });

  test('an open resolution shows what each costs with extras; a named one does not', () => {
    const rates = price(models.video2, { generate_audio: true }).unit_price_by_resolution_usd_micro;
    assert.deepEqual(rates, { '720p': 150_000n, '1080p': 250_000n });
    const named = price(models.video2, { resolution: '720p' });
    assert.equal(named.unit_price_by_resolution_usd_micro, undefined);
    assert.equal(price(models.mp, {}).unit_price_by_resolution_usd_micro, undefined);
  });
});

describe('what has no price', () => {
  const everywhere: Name[] = ['image', 'video', 'request', 'mp', 'video2', 'mpFree'];
  const numbers: unknown[] = [
    0,
    -0,
    -1,
    -1e-320,
    NaN,
    Infinity,
    -Infinity,
    1e308,
    '5',
    '5abc',
    '',
    null,
    true,
    false,
    [5],
    {},
    { valueOf: () => 5 },
    5n,
  ];

  for (const value of numbers) {
    const text = Object.is(value, -0) ? '-0' : `${typeof value} ${String(value)}`;
    test(`duration_seconds ${text}, whatever the unit`, () => {
      for (const name of everywhere) {
        const error = refusal(models[name], { duration_seconds: value });
        assert.equal(error.param, 'duration_seconds');
        assert.match(
          error.message,
          /^duration_seconds must be a number of seconds above 0 and at most/,
        );
      }
    });
    test(`num_images ${text}, whatever the unit`, () => {
      for (const name of everywhere) {
        const error = refusal(models[name], { num_images: value, image_size: '10x10' });
        assert.equal(error.param, 'num_images');
        assert.match(error.message, /^num_images must be an integer from 1 to \d+\.$/);
      }
    });
    test(`width, height and sides of image_size ${text}, whatever the unit`, () => {
      for (const name of everywhere) {
        assert.equal(refusal(models[name], { width: value, height: 10 }).param, 'width');
        assert.equal(refusal(models[name], { width: 10, height: value }).param, 'height');
        const sides = { width: value, height: 10 };
        assert.equal(refusal(models[name], { image_size: sides }).param, 'image_size');
      }
    });
  }

  const table: [string, Name, Input, string, RegExp][] = [
    [
      'a length above max',
      'video',
      { duration_seconds: 10.1 },
      'duration_seconds',
      /at most 10\.$/,
    ],
    [
      'a length above the ceiling',
      'open',
      { duration_seconds: durationSecondsMax + 1 },
      'duration_seconds',
      /at most 3600\.$/,
    ],
    [
      'a length above the ceiling where max counts images',
      'image',
      { duration_seconds: 3601 },
      'duration_seconds',
      /at most 3600\.$/,
    ],
    ['a count above max', 'image', { num_images: 5 }, 'num_images', /from 1 to 4\.$/],
    [
      'a count above max where the unit is the request',
      'request',
      { num_images: 5 },
      'num_images',
      /from 1 to 4\.$/,
    ],
    [
      'a count above the ceiling',
      'extras',
      { num_images: countMax + 1 },
      'num_images',
      /from 1 to 100\.$/,
    ],
    ['a broken count', 'image', { num_images: 1.5 }, 'num_images', /an integer/],
    [
      'a resolution not offered',
      'image2',
      { resolution: '4k' },
      'resolution',
      /must be one of 1k, 2k\.$/,
    ],
    [
      'a resolution named like a method',
      'image2',
      { resolution: 'constructor' },
      'resolution',
      /one of/,
    ],
    ['a resolution named __proto__', 'image2', { resolution: '__proto__' }, 'resolution', /one of/],
    ['a resolution of null', 'image2', { resolution: null }, 'resolution', /one of/],
    ['a resolution in a list', 'image2', { resolution: ['1k'] }, 'resolution', /one of/],
    [
      'a resolution that is no text where none is priced',
      'image',
      { resolution: 5 },
      'resolution',
      /string/,
    ],
    [
      'a resolution where pixels are priced and none is offered',
      'mpFree',
      { resolution: '1k' },
      'resolution',
      /send image_size/,
    ],
    ['nothing to tell the pixels by', 'mpFree', {}, 'image_size', /must be given/],
    [
      'a size without a meaning where pixels are priced',
      'mp',
      { image_size: 'auto' },
      'image_size',
      /WxH/,
    ],
    ['a size of zero in words', 'image', { image_size: '0x10' }, 'image_size', /WxH/],
    ['half a size where pixels are priced', 'mp', { width: 10 }, 'height', /with width/],
    ['the other half', 'mp', { height: 10 }, 'width', /with height/],
    [
      'two sizes that differ',
      'mp',
      { width: 10, height: 10, image_size: '20x20' },
      'image_size',
      /differs from width and height/,
    ],
    [
      'more pixels than the ceiling',
      'mp',
      { image_size: '10001x10000' },
      'image_size',
      /100 megapixels/,
    ],
    [
      'more pixels than the ceiling in an unpriced size',
      'video',
      { width: 65_535, height: 65_535 },
      'width',
      /100 megapixels/,
    ],
    ['a side longer than the ceiling', 'image', { width: sideMax + 1 }, 'width', /1 to 65535/],
    [
      'more megapixels than max',
      'mpFree',
      { image_size: '2000x2001', num_images: 2 },
      'image_size',
      /at most 8/,
    ],
    ['a ratio that is a number', 'mp', { aspect_ratio: 1.5 }, 'aspect_ratio', /string/],
    [
      'a list field that is a number',
      'extras',
      { reference_image_urls: 3 },
      'reference_image_urls',
      /list/,
    ],
    [
      'a list field of null',
      'extras',
      { reference_image_urls: null },
      'reference_image_urls',
      /list/,
    ],
    [
      'a list field that is an object',
      'extras',
      { reference_image_urls: { length: 0 } },
      'reference_image_urls',
      /list/,
    ],
    [
      '"true" where true costs extra',
      'extras',
      { generate_audio: 'true' },
      'generate_audio',
      /boolean/,
    ],
    ['1 where true costs extra', 'extras', { generate_audio: 1 }, 'generate_audio', /boolean/],
    [
      'null where true costs extra',
      'extras',
      { generate_audio: null },
      'generate_audio',
      /boolean/,
    ],
    ['no tokens said', 'text', {}, 'input_tokens', /integer from 0/],
    ['no output tokens said', 'text', { input_tokens: 1 }, 'output_tokens', /integer from 0/],
    ['tokens below zero', 'text', { input_tokens: -1, output_tokens: 1 }, 'input_tokens', /from 0/],
    ['tokens in a text', 'text', { input_tokens: '1', output_tokens: 1 }, 'input_tokens', /from 0/],
    ['parts of tokens', 'text', { input_tokens: 1, output_tokens: 0.5 }, 'output_tokens', /from 0/],
    ['tokens of null', 'text', { input_tokens: null, output_tokens: 1 }, 'input_tokens', /from 0/],
    [
      'tokens above the ceiling',
      'text',
      { input_tokens: 1, output_tokens: tokensMax + 1 },
      'output_tokens',
      /to 1000000000\.$/,
    ],
    [
      'tokens past 2^53',
      'text',
      { input_tokens: 2 ** 53, output_tokens: 1 },
      'input_tokens',
      /from 0/,
    ],
  ];
  for (const [name, model, input, param, message] of table) {
    test(name, () => {
      const error = refusal(models[model], input);
      assert.equal(error.param, param);
      assert.match(error.message, message);
      assert.ok(error.message.startsWith(param));
      assert.equal(error.details?.field, param);
    });
  }

  test('more than max counts of anything, or than the ceiling where max is higher', () => {
    const counted = row('image', 'count', { unit_price_usd_micro: 1n, max: 2 });
    assert.match(refusal(counted, { num_images: 3 }).message, /from 1 to 2\.$/);
    assert.equal(price(counted, { num_images: 2 }).price_usd_micro, 2n);
    const long = row('video', 'seconds', { unit: 'sec', unit_price_usd_micro: 1n, max: 5000 });
    assert.match(refusal(long, { duration_seconds: 3601 }).message, /at most 3600\.$/);
    // A max of other things bounds neither.
    const said = row('video', 'characters', { unit: 'request', unit_price_usd_micro: 1n, max: 2 });
    assert.equal(price(said, { num_images: 3, duration_seconds: 3 }).price_usd_micro, 1n);
  });

  test('details carry what is allowed', () => {
    const { details } = refusal(models.video, { duration_seconds: 11 });
    assert.deepEqual(details, {
      field: 'duration_seconds',
      type: 'number',
      exclusive_minimum: 0,
      maximum: 10,
    });
    assert.deepEqual(refusal(models.image2, { resolution: 'x' }).details?.one_of, ['1k', '2k']);
  });

  for (const input of [null, undefined, [], 'x', 5, true]) {
    test(`an input that is ${JSON.stringify(input)}`, () => {
      assert.equal(refusal(models.image, input).param, 'input');
    });
  }

  test('a price above the ceiling, well before a bigint column ends', () => {
    const dear = (usd: string) =>
      row('video', 'seconds', {
        unit: 'sec',
        unit_price_usd_micro: parseUsd(usd),
        extras: [references],
      });
    const fits = price(dear('1000000'), { duration_seconds: 1000 });
    assert.equal(fits.price_usd_micro, priceMaxUsdMicro);
    assert.equal(
      refusal(dear('1000000'), { duration_seconds: 1000.000001 }).param,
      'duration_seconds',
    );
    assert.match(
      refusal(dear('9000000000000'), { duration_seconds: 3600 }).message,
      /1000000000 USD/,
    );
    // A rate that does not fit, although so little of it is asked for.
    assert.equal(refusal(dear('9000000000000'), { duration_seconds: 1e-9 }).code, 'unpriceable');
    const tokens = { input_usd_micro: 2n ** 62n, output_usd_micro: 2n ** 62n };
    assert.throws(() => priceTokens(tokens, tokensMax, tokensMax), ApiError);
  });
});

describe('priceTokens', () => {
  test('is the price of a text quote', () => {
    fc.assert(
      fc.property(fc.nat(tokensMax), fc.nat(tokensMax), (input_tokens, output_tokens) => {
        const amount = priceTokens(models.text.price, input_tokens, output_tokens);
        const quote = price(models.text, { input_tokens, output_tokens });
        assert.equal(amount, quote.price_usd_micro);
      }),
      { numRuns: 50 },
    );
  });

  test('refuses what is no number of tokens', () => {
    for (const bad of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
      assert.throws(() => priceTokens(models.text.price, bad, 0), ApiError);
      assert.throws(() => priceTokens(models.text.price, 0, bad), ApiError);
    }
  });
});

describe('cached prompt tokens', () => {
  const cached = { cached_input_usd_micro: 250_000n, cache_write_usd_micro: 3_000_000n };
  const row = (more: Partial<PriceRules>) => ({
    ...models.text,
    price: {
      ...models.text.price,
      input_usd_micro: 2_000_000n,
      output_usd_micro: 9_000_000n,
      ...more,
    },
  });
  const asked = { input_tokens: 1_000, output_tokens: 100 };
  const kept = (quote: Quote) => quoteFromJson(JSON.parse(JSON.stringify(quoteToJson(quote))));
  const rows: [
    what: string,
    more: Partial<PriceRules>,
    actual: ActualUse,
    price: bigint,
    charged: bigint,
  ][] = [
    [
      'each part is charged at its own price',
      cached,
      { ...asked, cached_tokens: 600, cache_write_tokens: 300 },
      3_900n,
      150n + 900n + 200n + 900n,
    ],
    [
      'a prompt that was not cached is charged as input',
      cached,
      { ...asked, cached_tokens: 0, cache_write_tokens: 0 },
      3_900n,
      2_900n,
    ],
    ['an unknown use is charged at the highest price', cached, asked, 3_900n, 3_900n],
    [
      'counts beyond the prompt count as the prompt',
      cached,
      { ...asked, cached_tokens: 9_000, cache_write_tokens: 9_000 },
      3_900n,
      250n + 900n,
    ],
    [
      'a price that is left out is the input price',
      { cached_input_usd_micro: 0n },
      { ...asked, cached_tokens: 600, cache_write_tokens: 300 },
      2_900n,
      800n + 900n,
    ],
    [
      'a row without these prices charges all as input',
      {},
      { ...asked, cached_tokens: 600, cache_write_tokens: 300 },
      2_900n,
      2_900n,
    ],
  ];
  for (const [what, more, actual, reserved, charged] of rows) {
    test(what, () => {
      const quote = kept(price(row(more), asked));
      assert.equal(quote.price_usd_micro, reserved);
      assert.equal(charge(quote, actual), charged);
    });
  }

  test('the charge is never above the reservation, and the multiplier covers all prices', () => {
    const rate = fc.bigInt(0n, 10_000_000n);
    const count = fc.nat(5_000);
    fc.assert(
      fc.property(rate, rate, rate, count, count, count, (input, read, written, ...counts) => {
        const [input_tokens, cached_tokens, cache_write_tokens] = counts;
        const quote = price(
          row({
            input_usd_micro: input,
            cached_input_usd_micro: read,
            cache_write_usd_micro: written,
          }),
          { input_tokens, output_tokens: 0 },
          500_000,
        );
        const amount = charge(quote, {
          input_tokens,
          output_tokens: 0,
          cached_tokens,
          cache_write_tokens,
        });
        assert.ok(amount <= quote.price_usd_micro);
        const most = [input, read, written].reduce((a, b) => (a > b ? a : b));
        assert.equal(quote.price_usd_micro, divideUp(most * BigInt(input_tokens), 2_000_000n));
      }),
    );
  });
});

describe('pixelsOf', () => {
  const table: [Parameters<typeof pixelsOf>, number, number][] = [
    [['0.5k'], 512, 512],
    [['1k'], 1024, 1024],
    [['1.5k'], 1536, 1536],
    [['2k'], 2048, 2048],
    [['4k'], 4096, 4096],
    [['480p'], 854, 480],
    [['540p'], 960, 540],
    [['720p'], 1280, 720],
    [['768p'], 1366, 768],
    [['1080p'], 1920, 1080],
    [['1k', '16:9'], 1024, 1024],
    [['720p', '1:1'], 1280, 720],
    [['720p', '9:16'], 1280, 720],
    [['720p', '16:9'], 1280, 720],
    [['720p', '21:9'], 1680, 720],
    [['720p', '9:21'], 1680, 720],
    [['1080p', '2.39:1'], 2582, 1080],
    [['720p', 'auto'], 1280, 720],
    [['720p', '0:1'], 1280, 720],
    [['720p', '16:9 '], 1280, 720],
  ];
  for (const [[resolution, ratio], width, height] of table) {
    test(`${resolution} ${ratio ?? ''} is ${width}x${height}`, () => {
      assert.deepEqual(pixelsOf(resolution, ratio), { width, height });
    });
  }

  test('an absurd ratio is refused, not priced', () => {
    const model = row('image', 'images', {
      unit: 'MP',
      unit_price_usd_micro: 1n,
      resolutions: ['1080p'],
    });
    assert.equal(refusal(model, { aspect_ratio: '99999:1' }).param, 'aspect_ratio');
  });
});

describe('the charge', () => {
  test('is for what was delivered', () => {
    const quote = price(models.video, { duration_seconds: 8 });
    assert.equal(charge(quote, { quantity: 6.5 }), 260_000n);
    assert.equal(charge(price(models.image, { num_images: 4 }), { quantity: 3 }), 30_000n);
  });

  test('is the quote where the upstream does not say', () => {
    assert.equal(charge(price(models.video, { duration_seconds: 8 }), {}), 320_000n);
    assert.equal(charge(price(models.text, { input_tokens: 7, output_tokens: 9 }), {}), 5n);
  });

  test('is nothing for an explicit nothing', () => {
    assert.equal(charge(price(models.video, {}), { quantity: 0 }), 0n);
    const text = price(models.text, { input_tokens: 100, output_tokens: 100 });
    assert.equal(charge(text, { input_tokens: 0, output_tokens: 0 }), 0n);
    assert.equal(charge(text, { output_tokens: 0 }), 10n);
  });

  test('keeps the extras in the rate', () => {
    const quote = price(models.extras, { num_images: 2, reference_image_urls: ['a', 'b'] });
    assert.equal(charge(quote, { quantity: 1 }), 12_000n);
  });

  test('is at the delivered resolution where that was left open, and only there', () => {
    const open = price(models.video2, { duration_seconds: 2 });
    assert.equal(open.price_usd_micro, 400_000n);
    assert.equal(charge(open, { resolution: '720p' }), 200_000n);
    assert.equal(charge(open, { resolution: '480p' }), 400_000n);
    assert.equal(charge(open, { resolution: 'constructor' }), 400_000n);
    const asked = price(models.video2, { duration_seconds: 2, resolution: '1080p' });
    assert.equal(charge(asked, { resolution: '720p' }), 400_000n);
  });

  for (const bad of [-1, NaN, Infinity, -Infinity, '0', null, [], {}, true]) {
    test(`takes ${typeof bad} ${String(bad)} for no figure: delivered in full`, () => {
      const media = price(models.video, { duration_seconds: 3 });
      assert.equal(charge(media, { quantity: bad as number }), 120_000n);
      const text = price(models.text, { input_tokens: 1000, output_tokens: 1000 });
      const actual = { input_tokens: bad as number, output_tokens: bad as number };
      assert.equal(charge(text, actual), 500n);
    });
  }

  test('is the same from a quote that was kept as JSON', () => {
    for (const input of [{ duration_seconds: 2 }, { generate_audio: true, resolution: '720p' }]) {
      const quote = price(models.video2, input);
      const kept = quoteFromJson(JSON.parse(JSON.stringify(quoteToJson(quote))));
      assert.deepEqual(kept, quote);
      assert.equal(charge(kept, { quantity: 1.25 }), charge(quote, { quantity: 1.25 }));
    }
  });
});

/** Prices whose rates do not divide evenly, over every unit. */
const anyModel = fc
  .record({
    unit: fc.constantFrom<PriceRules['unit']>('sec', 'image', 'request', 'MP', '1M tokens'),
    rate: fc.bigInt(0n, 10n ** 9n),
    second: fc.bigInt(0n, 10n ** 9n),
    add: fc.bigInt(0n, 10n ** 6n),
    free: fc.nat(2),
    max: fc.constantFrom(0, 3, 8),
    both: fc.boolean(),
  })
  .map(({ unit, rate, second, add, free, max, both }) =>
    row(
      unit === '1M tokens' ? 'text' : unit === 'sec' ? 'video' : 'image',
      unit === 'sec' ? 'seconds' : 'images',
      {
        unit,
        max,
        unit_price_usd_micro: rate,
        input_usd_micro: rate,
        output_usd_micro: second,
        ...(both && { by_resolution: { '1k': rate, '2k': second } }),
        resolutions: ['1k', '2k'],
        extras: [
          { ...references, free, add_usd_micro: add },
          { ...audio, add_usd_micro: add },
        ] as Extra[],
      },
    ),
  );

const anyGoodInput = fc
  .record(
    {
      duration_seconds: fc.double({ min: 1e-9, max: 3, noNaN: true }),
      num_images: fc.integer({ min: 1, max: 3 }),
      resolution: fc.constantFrom('1k', '2k'),
      aspect_ratio: fc.constantFrom('1:1', '16:9', 'auto'),
      image_size: fc.constantFrom('square_hd', '640x480'),
      reference_image_urls: fc.array(fc.constant('https://example.com/a.png'), { maxLength: 5 }),
      generate_audio: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  .chain((media) =>
    fc
      .record({
        input_tokens: fc.nat(200_000),
        output_tokens: fc.nat(200_000),
      })
      .map((tokens) => Object.assign(tokens, media)),
  );

describe('for every row and input', () => {
  test('the lines add up to the price, none is below zero, and rates add up too', () => {
    fc.assert(
      fc.property(anyModel, anyGoodInput, (model, input) => {
        const quote = price(model, input);
        let amount = 0n;
        let rate = 0n;
        for (const line of quote.breakdown) {
          assert.ok(line.amount_usd_micro >= 0n);
          amount += line.amount_usd_micro;
          rate += line.unit_price_usd_micro;
        }
        assert.equal(amount, quote.price_usd_micro);
        if (model.kind !== 'text') assert.equal(rate, quote.unit_price_usd_micro);
      }),
    );
  });

  test('the charge is never above the quote nor below zero, whatever the upstream says', () => {
    const figure = fc.oneof(fc.double(), fc.integer(), fc.anything());
    const anyActual = fc.record(
      {
        quantity: figure,
        // The last one cannot be made a text.
        resolution: fc.oneof(
          fc.constantFrom('1k', '2k'),
          fc.anything(),
          fc.constant({ toString: 0 }),
        ),
        input_tokens: figure,
        output_tokens: figure,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(anyModel, anyGoodInput, anyActual, (model, input, actual) => {
        const quote = price(model, input);
        const amount = charge(quote, actual as Parameters<typeof charge>[1]);
        assert.ok(amount >= 0n && amount <= quote.price_usd_micro);
      }),
    );
  });

  test('delivering exactly what was asked costs exactly the quote', () => {
    fc.assert(
      fc.property(anyModel, anyGoodInput, (model, input) => {
        const quote = price(model, input);
        const { input_tokens, output_tokens } = input;
        const amount = charge(quote, { quantity: quote.quantity, input_tokens, output_tokens });
        assert.equal(amount, quote.price_usd_micro);
      }),
    );
  });

  test('asking for more never costs less', () => {
    const seconds = fc.double({ min: 1e-9, max: 3, noNaN: true });
    fc.assert(
      fc.property(anyModel, anyGoodInput, seconds, seconds, (model, input, a, b) => {
        const at = (x: number) =>
          price(model, {
            ...input,
            duration_seconds: x,
            num_images: Math.ceil(x),
            input_tokens: Math.floor(x * 1e6),
            output_tokens: Math.floor(x * 1e6),
          }).price_usd_micro;
        assert.ok(at(Math.min(a, b)) <= at(Math.max(a, b)));
      }),
    );
  });

  test('leaving a field out never costs less than the cheapest way to say it', () => {
    fc.assert(
      fc.property(anyModel, anyGoodInput, (model, input) => {
        const { resolution: _, ...open } = input;
        const reserved = price(model, open).price_usd_micro;
        for (const resolution of ['1k', '2k']) {
          assert.ok(price(model, { ...open, resolution }).price_usd_micro <= reserved);
        }
      }),
    );
  });

  const withoutExtras = { reference_image_urls: [], generate_audio: false };
  const anyPpm = fc.oneof(fc.nat(100_000_000), fc.constantFrom(1, 333_333, 1_000_001));

  test('the catalog shows an account the rates of its estimates, to the micro-USD', () => {
    const shownAs = (usd: unknown) => String(parseUsd((usd as number).toFixed(6)));
    fc.assert(
      fc.property(anyModel, anyGoodInput, anyPpm, (model, { resolution: _, ...input }, ppm) => {
        const entry = catalogEntry(model as Model, ppm);
        const quote = shownQuote(quoteToJson(price(model, input, ppm)));
        const [first, second] = quote.breakdown.map((line) => line.unit_price_usd_micro);
        if (typeof entry.price === 'object') {
          assert.deepEqual(Object.values(entry.price).map(shownAs), [first, second]);
          return;
        }
        const rates = Object.values(entry.price_by_resolution ?? { one: entry.price });
        const plain = shownQuote(quoteToJson(price(model, { ...input, ...withoutExtras }, ppm)));
        const all = plain.unit_price_by_resolution_usd_micro ?? { one: first };
        assert.deepEqual(rates.map(shownAs), Object.values(all));
        assert.equal(entry.price, Math.max(...rates));
      }),
    );
  });

  test('the list price is the multiplier 1, to the byte', () => {
    fc.assert(
      fc.property(anyModel, anyGoodInput, (model, input) => {
        assert.deepEqual(price(model, input, 1_000_000), price(model, input));
      }),
    );
  });

  test('a multiplier of 0 is free, asked and delivered', () => {
    fc.assert(
      fc.property(anyModel, anyGoodInput, (model, input) => {
        const quote = price(model, input, 0);
        assert.equal(quote.price_usd_micro, 0n);
        assert.ok(quote.breakdown.every((line) => line.amount_usd_micro === 0n));
        assert.equal(charge(quote, { quantity: 1e6, input_tokens: 1e6, output_tokens: 1e6 }), 0n);
      }),
    );
  });

  test('a higher multiplier never costs less, and is rounded up once, at the end', () => {
    fc.assert(
      fc.property(anyModel, anyGoodInput, anyPpm, anyPpm, (model, input, a, b) => {
        const at = (ppm: number) => price(model, input, ppm);
        const [low, high] = [at(Math.min(a, b)), at(Math.max(a, b))];
        assert.ok(low.price_usd_micro <= high.price_usd_micro);
        assert.equal(low.unit_price_usd_micro, high.unit_price_usd_micro);
        const list = at(1_000_000).price_usd_micro;
        // The list price is itself rounded up, so that it bounds the exact one from both sides.
        const scaled = (amount: bigint, ppm: number) =>
          (amount * BigInt(ppm) + 999_999n) / 1_000_000n;
        assert.ok(at(a).price_usd_micro <= scaled(list, a));
        if (list > 0n) assert.ok(at(a).price_usd_micro >= scaled(list - 1n, a));
      }),
    );
  });

  test('the multiplier of the quote, kept as JSON, is that of the charge', () => {
    fc.assert(
      fc.property(anyModel, anyGoodInput, anyPpm, (model, input, ppm) => {
        const quote = price(model, input, ppm);
        const kept = quoteFromJson(JSON.parse(JSON.stringify(quoteToJson(quote))));
        assert.deepEqual(kept, quote);
        const { input_tokens, output_tokens } = input;
        const asked = { quantity: quote.quantity, input_tokens, output_tokens };
        assert.equal(charge(kept, asked), quote.price_usd_micro);
        const half = { quantity: quote.quantity / 2, input_tokens: 0, output_tokens };
        assert.ok(charge(kept, half) <= quote.price_usd_micro);
        const amounts = quote.breakdown.map((line) => line.amount_usd_micro);
        assert.equal(
          amounts.reduce((sum, amount) => sum + amount, 0n),
          quote.price_usd_micro,
        );
      }),
    );
  });

  test('any JSON as input ends in a price or in unpriceable, in nothing else', () => {
    const fieldNames = [
      'duration_seconds',
      'num_images',
      'resolution',
      'image_size',
      'width',
      'height',
      'aspect_ratio',
      'reference_image_urls',
      'generate_audio',
      'input_tokens',
      'output_tokens',
      '__proto__',
      'constructor',
      'prompt',
    ];
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.double(),
      fc.integer(),
      fc.constantFrom('1k', '16:9', '9x9', 1e308),
    );
    const anyInput = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom(...fieldNames), odd, { maxKeys: 8 }),
    );
    fc.assert(
      fc.property(anyModel, anyInput, (model, input) => {
        try {
          const quote = price(model, input as Input);
          assert.ok(quote.price_usd_micro >= 0n && quote.price_usd_micro <= priceMaxUsdMicro);
        } catch (error) {
          assert.ok(error instanceof ApiError && error.code === 'unpriceable', String(error));
        }
      }),
      { numRuns: isLong ? 2000 : 300 },
    );
  });

  test('no picture that is priced is larger than the ceiling', () => {
    const side = fc.integer({ min: 1, max: sideMax });
    fc.assert(
      fc.property(side, side, (width, height) => {
        let priced = true;
        try {
          price(models.mp, { image_size: { width, height } });
        } catch {
          priced = false;
        }
        assert.equal(priced, width * height <= pixelsMax);
      }),
    );
  });
});

describe('docs/pricing.md', () => {
  const text = readFileSync(new URL('../../../../docs/pricing.md', import.meta.url), 'utf8');
  const examples = [...text.matchAll(/```yaml\n(.*?)```/gs)].map((match) => parse(match[1]!));

  test('has worked examples of every unit', () => {
    const units = new Set(
      examples.map(
        ({
          row: {
            price: { unit },
          },
        }) => unit,
      ),
    );
    assert.deepEqual([...units].sort(), ['1M tokens', 'MP', 'image', 'request', 'sec']);
  });

  examples.forEach((example, i) => {
    test(`example ${i + 1} is what the service computes: ${JSON.stringify(example.input)}`, () => {
      const model = exampleModel(example.row);
      if (example.refused) {
        assert.equal(refusal(model, example.input).message, example.refused);
        return;
      }
      const ppm = Math.round((example.account?.price_multiplier ?? 1) * 1e6);
      const quote = quoteToJson(price(model, example.input, ppm));
      const shown = shownQuote(quote);
      for (const [field, value] of Object.entries(example.quote)) {
        assert.deepEqual(shown[field as keyof typeof shown], value, field);
      }
      if (example.delivered) {
        assert.equal(
          String(charge(quoteFromJson(quote), example.delivered)),
          example.charged_usd_micro,
        );
      }
    });
  });
});

/** The part of a row that the page shows, made whole. */
function exampleModel(part: { price: { unit: string } }): PricingRow {
  const unit = part.price.unit;
  const kind = unit === '1M tokens' ? 'text' : unit === 'sec' ? 'video' : 'image';
  const tasks = { text: 'chat', video: 'text-to-video', image: 'text-to-image' };
  const names = ['reference_image_urls', 'generate_audio', 'resolution'];
  const media = {
    example: { image_size: 'square' },
    input_schema: {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, {}])),
    },
  };
  const { rows, problems } = parseCatalogFile(
    {
      upstream: 'any',
      models: [
        {
          id: 'example',
          name: 'Example',
          kind,
          task: tasks[kind],
          ...(kind === 'text' ? { context_tokens: 1000, max_output_tokens: 1000 } : media),
          ...part,
        },
      ],
    },
    'pricing.md',
  );
  assert.deepEqual(problems, []);
  return rows[0]!;
}
