import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { canonicalJson, isObject, isWithinDepth, parseJson, storableJson } from './json.ts';
import {
  digitsOf,
  exactJson,
  holdsLong,
  integerOf,
  isLong,
  roundLong,
  verbatimJson,
} from './long-integers.ts';

const limits = { depth: 64, values: 1_000 };

describe('JSON that is read and written again keeps its integers', () => {
  const same = [
    '9007199254740993',
    '-9007199254740993',
    '18446744073709551615',
    '9007199254740992',
    '340282366920938463463374607431768211455',
    '{"seed":18446744073709551615}',
    '{"a":[{"b":[9007199254740993,1,"9007199254740993"]}],"c":1.5}',
    '{"0":9223372036854775807,"é":-9223372036854775808}',
  ];
  for (const text of same)
    test(text, () => {
      assert.equal(JSON.stringify(exactJson(text)), text);
      assert.equal(JSON.stringify(parseJson(Buffer.from(text), limits)), text);
      assert.equal(storableJson(exactJson(text)), text);
    });

  test('of any length, at any place', () => {
    const integer = fc.bigInt({ min: -(1n << 200n), max: 1n << 200n });
    const property = fc.property(fc.array(integer), (list) => {
      const text = `{"a":[${list.join()}],"b":"x"}`;
      assert.equal(JSON.stringify(exactJson(text)), text);
    });
    fc.assert(property);
  });
});

test('other numbers are numbers as before', () => {
  const text = '[0,-0,1,1.5,9007199254740991,-9007199254740991,1e300,1e21,0.1,1E400]';
  const read = exactJson(text) as unknown[];
  assert.deepEqual(read, JSON.parse(text));
  assert.equal(holdsLong(read), false);
});

test('a whole number with a point or an exponent is a whole number', () => {
  for (const [text, digits] of [
    ['9007199254740993.0', '9007199254740993'],
    ['9007199254740993.00', '9007199254740993'],
    ['9.007199254740993e15', '9007199254740993'],
    ['-9.007199254740993E+15', '-9007199254740993'],
    ['0.9007199254740993e16', '9007199254740993'],
    ['1.8446744073709551615e19', '18446744073709551615'],
    ['1.844674407370955161500e19', '18446744073709551615'],
    ['1e20', '100000000000000000000'],
    ['9007199254740993000e-3', '9007199254740993'],
    ['-90071992547409930.0e-1', '-9007199254740993'],
    ['9007199254740993e-0', '9007199254740993'],
    ['1500e-2', '15'],
    ['-150E-1', '-15'],
  ] as const)
    assert.equal(JSON.stringify(exactJson(`[${text}]`)), `[${digits}]`, text);
});

test('equal integers have one canonical form, and different ones have two', () => {
  const form = (text: string) => canonicalJson(exactJson(text));
  assert.equal(form('{"a":9007199254740993}'), form(' { "a" : 9007199254740993.0 } '));
  assert.notEqual(form('{"a":9007199254740993}'), form('{"a":9007199254740992}'));
  assert.notEqual(form('{"a":9007199254740993}'), form('{"a":"9007199254740993"}'));
});

test('they are leaves', () => {
  const long = exactJson('9007199254740993');
  assert.deepEqual([isLong(long), isObject(long), isWithinDepth(long, 0)], [true, false, true]);
  assert.equal(digitsOf(long), '9007199254740993');
  assert.deepEqual(roundLong({ a: [long], b: 'x' }), { a: [9007199254740992], b: 'x' });
  const plain = { a: 1 };
  assert.equal(roundLong(plain), plain);
  assert.deepEqual([integerOf(5n), digitsOf(integerOf(1n << 64n))], [5, '18446744073709551616']);
});

test('an object that looks like one is none', () => {
  const text = '{"rawJSON":"9007199254740993"}';
  assert.equal(isObject(exactJson(text)), true);
  assert.equal(JSON.stringify(exactJson(text)), text);
});

test('what a reader refuses is refused beside one, too', () => {
  for (const text of [
    '{"a":9007199254740993,"__proto__":1}',
    '{"a":9007199254740993,"b":"\\u0000"}',
    `{"a":9007199254740993,"b":${'['.repeat(65)}${']'.repeat(65)}}`,
    '{"a":9007199254740993,"b":1e999}',
    '{"a":9007199254740993,}',
  ])
    assert.throws(() => parseJson(Buffer.from(text), limits), { name: 'JsonError' }, text);
});

for (const number of [
  '1e400',
  '-1E+999999',
  '1e-400',
  '0.12345678901234567891',
  '12345678901234567891',
  '90071992547409935e-1',
  '9007199254740993.5',
  '15.0000000000000000001',
])
  test(`${number} is passed on as it is`, () => {
    const text = `{"a":[${number}]}`;
    assert.equal(JSON.stringify(verbatimJson(text)), text);
  });

for (const number of [
  '0',
  '-0.0',
  '1.50',
  '1e5',
  '0.10000000000000001',
  '-100000000000000000',
  '1e300',
])
  test(`${number} is a number`, () => {
    const [value] = verbatimJson(`[${number},1e400]`) as unknown[];
    assert.equal(value, Number(number));
  });
