import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { inputValidator, upstreamInput, validateInput, withDefaults } from './model-input.ts';

const model = {
  input_schema: {
    type: 'object',
    required: ['prompt'],
    properties: {
      prompt: { type: 'string', minLength: 1, maxLength: 20_000 },
      aspect_ratio: { enum: ['1:1', '16:9'] },
      num_images: { type: 'integer', minimum: 1, default: 1 },
      step_seconds: { type: 'number', multipleOf: 0.1 },
      seed: { type: 'integer' },
      slug: { type: 'string', pattern: '^[a-z]+$' },
      code: { type: 'string', pattern: '^[0-9]+$' },
      image_size: {
        type: 'object',
        properties: { width: { type: 'integer' } },
        additionalProperties: false,
      },
      images: { type: 'array', maxItems: 1000, uniqueItems: true },
      options: { type: 'object', default: { a: [1] } },
    },
  },
};

const eitherOr = {
  input_schema: {
    type: 'object',
    required: ['audio_url'],
    properties: { image_url: { type: 'string' }, video_url: { type: 'string' } },
    anyOf: [{ required: ['video_url'] }, { required: ['image_url'] }],
  },
};

test('one of two fields is asked for, not each of them', () => {
  const rule = { reason: 'field_needed', fields: 'video_url, image_url' };
  const choice = { path: '', message: 'needs video_url or image_url', rule };
  assert.deepEqual(validateInput(eitherOr, { audio_url: 'x' }), [choice]);
  const both = [
    choice,
    { path: '/audio_url', message: 'is required', rule: { reason: 'field_missing' } },
  ];
  assert.deepEqual(validateInput(eitherOr, {}), both);
  // One with too many values to be told all faults of is told the same.
  const large = { audio_url: 'x', list: Array.from({ length: 3000 }, () => 0) };
  assert.deepEqual(validateInput(eitherOr, large), [choice]);
  assert.equal(validateInput(eitherOr, { audio_url: 'x', image_url: 'y' }), null);
});

describe('validateInput', () => {
  const good: unknown[] = [
    { prompt: 'x' },
    { prompt: 'x', extra: [{ any: 'thing' }] },
    { prompt: 'x', step_seconds: 4.2 },
    { prompt: 'x', step_seconds: 0.3 },
    JSON.parse('{"prompt":"x","__proto__":{"prompt":5}}'),
  ];
  for (const input of good) {
    test(`takes ${JSON.stringify(input)}`, () => assert.equal(validateInput(model, input), null));
  }

  const bad: [unknown, string, RegExp][] = [
    [{}, '/prompt', /is required/],
    [Object.create({ prompt: 'inherited' }), '/prompt', /is required/],
    [JSON.parse('{"__proto__":{"prompt":"x"}}'), '/prompt', /is required/],
    [{ prompt: '' }, '/prompt', /fewer than 1/],
    [{ prompt: 5 }, '/prompt', /must be string/],
    [{ prompt: null }, '/prompt', /must be string/],
    [{ prompt: 'x', aspect_ratio: '2:1' }, '/aspect_ratio', /one of "1:1", "16:9"/],
    [{ prompt: 'x', num_images: '2' }, '/num_images', /must be integer/],
    [{ prompt: 'x', slug: 'A' }, '/slug', /must match/],
    [{ prompt: 'x', slug: '5' }, '/slug', /\[a-z\]/],
    [{ prompt: 'x', code: 'a' }, '/code', /\[0-9\]/],
    [{ prompt: 'x', image_size: { 'a/b~c': 1 } }, '/image_size/a~1b~0c', /not a field/],
    [{ prompt: 'x', images: [1, 2, 1] }, '/images', /duplicate/],
    [null, '', /must be object/],
    [[], '', /must be object/],
    ['x', '', /must be object/],
  ];
  const rules: [unknown, object][] = [
    [{ prompt: '' }, { min_length: 1 }],
    [{ prompt: 5 }, { type: 'string' }],
    [{ prompt: 'x', aspect_ratio: '2:1' }, { one_of: '"1:1", "16:9"' }],
    [{ prompt: 'x', image_size: { 'a/b~c': 1 } }, { reason: 'field_unknown' }],
  ];
  for (const [input, rule] of rules) {
    test(`says in values what ${JSON.stringify(input)} breaks`, () =>
      assert.deepEqual(validateInput(model, input)![0]!.rule, rule));
  }

  for (const [input, path, message] of bad) {
    test(`refuses ${JSON.stringify(input)}`, () => {
      const errors = validateInput(model, input);
      assert.equal(errors?.length, 1);
      assert.equal(errors[0]!.path, path);
      assert.match(errors[0]!.message, message);
    });
  }

  test('tells several faults at once, at most 20', () => {
    const few = validateInput(model, { prompt: 5, num_images: 0, slug: 'A' });
    assert.deepEqual(
      few?.map((error) => error.path),
      ['/prompt', '/num_images', '/slug'],
    );
    const schema = {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'string' } } },
    };
    const many = validateInput({ input_schema: schema }, { list: Array(500).fill(1) });
    assert.equal(many?.length, 20);
  });

  test('tells the first fault only of a huge input, without collecting the others', () => {
    const schema = { type: 'object', properties: { list: { items: { type: 'string' } } } };
    const errors = validateInput({ input_schema: schema }, { list: Array(300_000).fill(1) });
    assert.equal(errors?.length, 1);
  });

  test("cuts the caller's own words short", () => {
    const [error] = validateInput(model, {
      prompt: 'x',
      image_size: { ['k'.repeat(100_000)]: 1 },
    })!;
    assert.ok(error!.path.length <= 200 && error!.message.length <= 200);
  });

  test('does not compare a list longer than it may be', () => {
    const images = Array.from({ length: 150_000 }, (_, i) => [i]);
    const start = performance.now();
    const errors = validateInput(model, { prompt: 'x', images });
    assert.match(errors![0]!.message, /more than 1000/);
    // Comparing each with each would take minutes.
    assert.ok(performance.now() - start < 2000);
  });

  test('shows no pattern a long text, so that a slow one cannot stall', () => {
    const slow = { type: 'object', properties: { text: { type: 'string', pattern: '\\s+$' } } };
    const start = performance.now();
    const errors = validateInput({ input_schema: slow }, { text: `${' '.repeat(500_000)}x` });
    assert.equal(errors?.[0]?.path, '/text');
    assert.match(errors[0].message, /at most 4096 characters/);
    // Untamed, this pattern looks at each of the 500,000 spaces 500,000 times.
    assert.ok(performance.now() - start < 2000);
    assert.equal(validateInput({ input_schema: slow }, { text: 'x ' }), null);
  });

  test('never changes the input, even with defaults in the schema', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => {
        const before = structuredClone(input);
        validateInput(model, input);
        assert.deepEqual(input, before);
      }),
    );
    const input = Object.freeze({ prompt: 'x' });
    assert.equal(validateInput(model, input), null);
    assert.ok(!('num_images' in input));
  });

  test('answers for any JSON, and leaves Object.prototype alone', () => {
    const keys = fc.constantFrom('prompt', '__proto__', 'constructor', 'images', 'image_size');
    fc.assert(
      fc.property(fc.dictionary(keys, fc.jsonValue()), (input) => {
        const errors = validateInput(model, input);
        assert.ok(errors === null || (errors.length > 0 && errors.length <= 20));
      }),
    );
    assert.deepEqual(Object.keys(Object.prototype), []);
  });

  test('compiles a schema once, and takes the same $id twice', () => {
    assert.equal(inputValidator(model), inputValidator({ ...model }));
    const twin = (type: string) => ({
      input_schema: { $id: 'twin', type: 'object', properties: { a: { type } } },
    });
    assert.equal(validateInput(twin('string'), { a: 'x' }), null);
    assert.equal(validateInput(twin('integer'), { a: 'x' })?.length, 1);
  });

  const broken: [string, Record<string, unknown>][] = [
    ['an unknown keyword', { type: 'object', maximun: 5 }],
    ['a wrong type', { type: 'objekt' }],
    ['a reference to another place', { $ref: 'https://example.com/schema.json' }],
    ['a broken pattern', { properties: { a: { pattern: '(' } } }],
  ];
  for (const [name, input_schema] of broken) {
    test(`throws for a schema with ${name}`, () => {
      assert.throws(() => inputValidator({ input_schema }));
    });
  }
});

describe('withDefaults', () => {
  test('fills in what was omitted and keeps what was said', () => {
    const input = { prompt: 'x', seed: null };
    assert.deepEqual(withDefaults(model, input), {
      prompt: 'x',
      seed: null,
      num_images: 1,
      options: { a: [1] },
    });
    assert.deepEqual(withDefaults(model, { num_images: 3 }).num_images, 3);
    assert.deepEqual(input, { prompt: 'x', seed: null });
  });

  test('gives each request its own copy of a default', () => {
    const first = withDefaults(model, {}).options as { a: number[] };
    first.a.push(2);
    assert.deepEqual(withDefaults(model, {}).options, { a: [1] });
  });

  test('keeps a field named __proto__ a plain field', () => {
    const filled = withDefaults(model, JSON.parse('{"__proto__":{"seed":7}}'));
    assert.equal(filled.seed, undefined);
    assert.deepEqual(Object.getOwnPropertyNames(filled).sort(), [
      '__proto__',
      'num_images',
      'options',
    ]);
  });
});

describe('upstreamInput', () => {
  const route = {
    input_mapping: { num_images: 'n', prompt: 'text' },
    input_defaults: { safety: 'on' },
  };

  test("speaks the upstream's names and adds the fixed fields", () => {
    assert.deepEqual(upstreamInput(model, route, { prompt: 'x', extra: 1 }), {
      text: 'x',
      extra: 1,
      n: 1,
      options: { a: [1] },
      safety: 'on',
    });
  });

  test('lets no caller set a mapped or a fixed field behind the price', () => {
    const input = { prompt: 'x', num_images: 1, n: 10, text: 'y', safety: 'off' };
    const sent = upstreamInput(model, route, input);
    assert.deepEqual([sent.n, sent.text, sent.safety], [1, 'x', 'on']);
    // Not even where the field of ours is left out.
    assert.equal(upstreamInput(model, route, { n: 10 }).n, 1);
    assert.equal(upstreamInput(model, route, { text: 'y' }).text, undefined);
  });

  test('says what the price assumed, where the schema knows the field', () => {
    const assumptions = { seed: 5, num_images: 4, megapixels: 1 };
    const sent = upstreamInput(model, route, { prompt: 'x' }, assumptions);
    // Also where a default has come since that says otherwise.
    assert.deepEqual([sent.seed, sent.n, 'megapixels' in sent], [5, 4, false]);
    assert.equal(upstreamInput(model, route, { seed: 9 }, assumptions).seed, 9);
  });

  test('makes the default length, which may be shorter than what is reserved', () => {
    const lengths = (schema: object) => {
      const film = { input_schema: { properties: { duration_seconds: schema } } };
      return upstreamInput(film, route, {}, { duration_seconds: 5 }).duration_seconds;
    };
    assert.deepEqual([lengths({ default: 4 }), lengths({})], [4, 5]);
  });

  test('is not led astray by fields named like methods', () => {
    const input = JSON.parse('{"__proto__":{"seed":7},"constructor":1,"toString":2}');
    const sent = upstreamInput(model, route, input);
    assert.equal(sent.seed, undefined);
    assert.deepEqual([sent.constructor, sent.toString], [1, 2]);
    assert.equal(Object.getPrototypeOf(sent), Object.prototype);
  });
});

describe('a closed row', () => {
  const closed = {
    input_schema: { ...model.input_schema, additionalProperties: false },
  };
  const route = { input_mapping: { num_images: 'n' }, input_defaults: { safe: true } };

  test('takes fields that the model does not know, and keeps them from the upstream', () => {
    const input = { prompt: 'x', foo: 1, steps: 1_000_000, n: 4 };
    assert.equal(validateInput(closed, input), null);
    const sent = upstreamInput(closed, route, input);
    assert.deepEqual(sent, { options: { a: [1] }, n: 1, prompt: 'x', safe: true });
  });

  test('still refuses what is wrong in the fields that it knows, at any depth', () => {
    for (const input of [{ prompt: 5 }, { prompt: 'x', image_size: { depth: 1 } }, { foo: 1 }])
      assert.notEqual(validateInput(closed, input), null, JSON.stringify(input));
  });
});
