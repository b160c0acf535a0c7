import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { validateInput } from './model-input.ts';

type Fault = [path: string, message: string];

const side = { type: 'integer', minimum: 64, maximum: 4096 };
const size = {
  anyOf: [
    { enum: ['square', 'wide'] },
    { type: 'string', pattern: '^[1-9]\\d{2,3}x[1-9]\\d{2,3}$', description: '"100x100" or so' },
    { type: 'object', required: ['width', 'height'], properties: { width: side, height: side } },
  ],
};
const sizeForms =
  'must be one of "square", "wide"; or "100x100" or so; or an object with width and height';

function told(field: unknown, value: unknown, more: Record<string, unknown> = {}): Fault[] | null {
  const input_schema = { type: 'object', properties: { field }, ...more };
  const errors = validateInput({ input_schema }, { field: value });
  return errors && errors.map(({ path, message }) => [path, message]);
}

describe('a size that is none of three forms', () => {
  const cases: [unknown, Fault[]][] = [
    [
      { width: 6000, height: 6000 },
      [
        ['/field/width', 'must be <= 4096'],
        ['/field/height', 'must be <= 4096'],
      ],
    ],
    [{ width: 65, height: 63 }, [['/field/height', 'must be >= 64']]],
    [
      { width: 'a' },
      [
        ['/field/height', 'is required'],
        ['/field/width', 'must be integer'],
      ],
    ],
    [{ width: 64.5, height: 64 }, [['/field/width', 'must be integer']]],
    ['65x63', [['/field', sizeForms]]],
    ['', [['/field', sizeForms]]],
    [7, [['/field', sizeForms]]],
    [null, [['/field', sizeForms]]],
    [[64, 64], [['/field', sizeForms]]],
  ];
  for (const [value, expected] of cases) {
    test(`is told true things only: ${JSON.stringify(value)}`, () =>
      assert.deepEqual(told(size, value), expected));
  }

  test('also beside so much that the first fault alone is told', () => {
    const schema = { input_schema: { properties: { size } } };
    const list = Array.from({ length: 3000 }, () => 0);
    const [error, ...others] = validateInput(schema, { list, size: { width: 6000, height: 6 } })!;
    assert.deepEqual([error!.path, error!.message], ['/size/width', 'must be <= 4096']);
    assert.deepEqual(others, []);
  });

  test('in every place of a list, with what stands around it', () => {
    const list = { type: 'array', items: size, maxItems: 2 };
    assert.deepEqual(told(list, [{ width: 1, height: 64 }, 'square', 7]), [
      ['/field', 'must NOT have more than 2 items'],
      ['/field/0/width', 'must be >= 64'],
      ['/field/2', sizeForms],
    ]);
  });
});

describe('a choice', () => {
  const text = { type: 'string', maxLength: 3 };
  const named = { type: 'object', required: ['name'], properties: { name: text } };
  const aged = { type: 'object', required: ['age'], properties: { age: { type: 'integer' } } };
  const cases: [name: string, schema: unknown, value: unknown, Fault[]][] = [
    [
      'the kind decides',
      { anyOf: [text, { type: 'null' }] },
      'long',
      [['/field', 'must NOT have more than 3 characters']],
    ],
    [
      'no kind fits',
      { anyOf: [text, { type: 'null' }] },
      5,
      [['/field', 'must be a string; or null']],
    ],
    [
      'an enum is of the kinds of its values',
      { anyOf: [{ enum: [1, 2] }, text] },
      3,
      [['/field', 'must be one of 1, 2']],
    ],
    [
      'a const is of the kind of its value',
      { anyOf: [{ const: true }, text] },
      false,
      [['/field', 'must be true']],
    ],
    [
      'of two objects the one got furthest in',
      { anyOf: [named, aged] },
      { name: 5 },
      [['/field/name', 'must be string']],
    ],
    [
      'neither got further',
      { anyOf: [named, aged] },
      {},
      [['/field', 'must be an object with name; or an object with age']],
    ],
    [
      'several fit where one may',
      { oneOf: [text, { type: 'string' }] },
      'x',
      [['/field', 'fits more than one of the allowed forms, but must fit exactly one']],
    ],
    [
      'a choice within a choice',
      { anyOf: [{ anyOf: [text, aged] }, { type: 'boolean' }] },
      'long',
      [['/field', 'must NOT have more than 3 characters']],
    ],
    [
      'its forms cannot be told',
      { anyOf: [{ anyOf: [text, aged] }, { not: {} }] },
      5,
      [['/field', 'fits none of the allowed forms']],
    ],
  ];
  for (const [name, schema, value, expected] of cases)
    test(name, () => assert.deepEqual(told(schema, value), expected));

  test('whose forms stand elsewhere in the schema', () => {
    const $defs = { text, named };
    const schema = { anyOf: [{ $ref: '#/$defs/text' }, { $ref: '#/$defs/named' }] };
    assert.deepEqual(told(schema, { name: 5 }, { $defs }), [['/field/name', 'must be string']]);
  });

  test('is told in 400 characters at most', () => {
    const names = Array.from({ length: 100 }, (_, i) => `name ${i}`);
    const [[, message]] = told({ anyOf: [{ enum: names }, aged] }, true) as [Fault];
    assert.equal(message.length, 400);
  });
});
