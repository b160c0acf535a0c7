import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importInput, type ImportedInput } from './input.ts';
import type { Unit } from '../../server/src/core/catalog/catalog.ts';

const prompt = { type: 'string' };

function made(properties: Record<string, unknown>, unit: Unit, required = ['prompt']) {
  const input = importInput({ type: 'object', required, properties }, unit);
  if (typeof input === 'string') assert.fail(input);
  return input;
}

function fieldsOf({ input_schema }: ImportedInput) {
  return input_schema.properties as Record<string, Record<string, unknown>>;
}

const durations: {
  name: string;
  theirs: Record<string, unknown>;
  ours: Record<string, unknown> | null;
  mapped?: string;
  required?: boolean;
  max?: number;
}[] = [
  {
    name: 'a whole number with a default that is priced',
    theirs: { type: 'integer', minimum: 3, maximum: 12, default: 5 },
    ours: { type: 'integer', minimum: 3, maximum: 12, default: 5 },
    mapped: 'duration',
    max: 12,
  },
  {
    name: 'a default of more than is priced has to be named',
    theirs: { type: 'number', maximum: 20, default: 8 },
    ours: { type: 'number', minimum: 1, maximum: 20 },
    mapped: 'duration',
    required: true,
    max: 20,
  },
  {
    name: 'texts of seconds',
    theirs: { type: 'string', enum: ['4s', '6s', '8s'], default: '4s' },
    ours: { enum: [4, 6, 8], default: 4 },
    mapped: 'duration:{}s',
    max: 8,
  },
  {
    name: 'texts of numbers, with a word among them that is the default',
    theirs: { type: 'string', enum: ['auto', '5', '10'], default: 'auto' },
    ours: { enum: [5, 10] },
    mapped: 'duration:{}',
    required: true,
    max: 10,
  },
  {
    name: 'numbers to choose from',
    theirs: { type: 'integer', enum: [5, 10], default: 5 },
    ours: { enum: [5, 10], default: 5 },
    mapped: 'duration',
    max: 10,
  },
  { name: 'words alone', theirs: { enum: ['short', 'long'], default: 'short' }, ours: null },
  { name: 'a free text', theirs: { type: 'string', default: '5' }, ours: null },
  { name: 'numbers that are written otherwise', theirs: { enum: ['05', '5.0'] }, ours: null },
];

for (const { name, theirs, ours, mapped, required = false, max } of durations) {
  test(`a duration: ${name}`, () => {
    const properties = { prompt, duration: theirs };
    if (ours === null) {
      const refused = importInput({ required: ['prompt'], properties }, 'sec');
      assert.equal(
        refused,
        'it is priced by the second, but its input has no field for the duration',
      );
      return;
    }
    const input = made(properties, 'sec');
    const { description, ...schema } = fieldsOf(input).duration_seconds!;
    assert.equal(description, 'Length in seconds.');
    assert.deepEqual(schema, ours);
    assert.deepEqual(input.input_mapping, { duration_seconds: mapped });
    const needed = input.input_schema.required as string[];
    assert.equal(needed.includes('duration_seconds'), required);
    assert.equal('duration_seconds' in input.example, required);
    assert.equal(input.max, max);
  });
}

test('a duration is left to the model where its price does not rest on it', () => {
  const input = made({ prompt, duration: { type: 'integer' } }, 'request');
  assert.deepEqual(input.left, ['duration']);
});

test('media get names that say so, and are handed back under theirs', () => {
  const uri = { type: 'string', format: 'uri' };
  const input = made(
    {
      image: uri,
      input_video: uri,
      style_refs: { type: 'array', items: uri, maxItems: 3 },
      images: { type: 'array', items: uri },
      tail_image_url: { type: 'string' },
    },
    'image',
    ['image', 'images'],
  );
  assert.deepEqual(input.input_mapping, {
    image_url: 'image',
    video_url: 'input_video',
    style_ref_urls: 'style_refs',
    image_urls: 'images',
  });
  assert.equal(fieldsOf(input).style_ref_urls!.maxItems, 3);
  assert.deepEqual(input.example, {
    image_url: 'https://example.com/photo.jpg',
    image_urls: ['https://example.com/photo.jpg'],
  });
  assert.equal(input.input_schema.additionalProperties, false);
});

test('what could make more than the price covers, and what is withheld, is left out', () => {
  const choice = (first: string) => ({ enum: [first, 'more'], default: first });
  const input = made(
    {
      prompt,
      num_outputs: { type: 'integer', minimum: 1, maximum: 8, default: 4 },
      max_images: { type: 'integer' },
      resolution: choice('1k'),
      quality: choice('low'),
      generate_audio: { type: 'boolean' },
      enable_safety_checker: { type: 'boolean', default: true },
      loras: { type: 'array', items: { type: 'object' } },
      __proto__x: prompt,
      style: choice('flat'),
    },
    'image',
  );
  assert.deepEqual(Object.keys(fieldsOf(input)), ['prompt', 'num_images', 'style']);
  // The model's own default is four, which the row's price does not cover.
  assert.deepEqual(fieldsOf(input).num_images, {
    type: 'integer',
    minimum: 1,
    maximum: 8,
    default: 1,
  });
  assert.equal(input.max, 8);
  assert.ok(input.left.includes('resolution') && input.left.includes('loras'));
});

test('a field that is needed and cannot be had leaves the model out', () => {
  const refused = (properties: Record<string, unknown>, unit: Unit, required: string[]) => {
    const input = importInput({ properties, required }, unit);
    assert.equal(typeof input, 'string', JSON.stringify(input));
    return String(input);
  };
  const parts = { type: 'array', items: { type: 'object' } };
  assert.match(refused({ prompt, parts }, 'image', ['parts']), /needs parts/);
  assert.match(refused({ prompt }, 'sec', []), /has no field for the duration/);
  assert.match(refused({ prompt }, 'MP', []), /has no list of sizes/);
  const free = { type: 'string', default: 'square' };
  assert.match(refused({ prompt, image_size: free }, 'MP', []), /has no list of sizes/);
  assert.match(refused({}, 'image', []), /its input is not listed/);
});

test('by the megapixel only sizes of one megapixel are offered, and one of them is sent', () => {
  const image_size = { enum: ['square', 'auto', 'auto_4K', 'landscape_4_3'], default: 'auto' };
  const input = made({ prompt, image_size }, 'MP');
  assert.deepEqual(fieldsOf(input).image_size, { enum: ['square', 'landscape_4_3'] });
  assert.deepEqual(input.input_schema.required, ['prompt', 'image_size']);
  assert.deepEqual(input.example, { prompt: 'a lighthouse at dawn', image_size: 'square' });
});

test('defaults that do not fit, patterns and formats are not taken over', () => {
  const input = made(
    {
      prompt: { type: ['string', 'null'], pattern: '(a+)+$', default: null },
      steps: { type: 'integer', minimum: 1, maximum: 10, default: 50 },
      mood: { enum: ['calm', null], default: 'wild' },
    },
    'image',
  );
  assert.deepEqual(fieldsOf(input), {
    prompt: { type: 'string' },
    steps: { type: 'integer', minimum: 1, maximum: 10 },
    mood: { enum: ['calm'] },
  });
});
