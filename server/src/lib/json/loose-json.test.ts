import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LooseJson } from './loose-json.ts';

/** Reads pieces up to the end of the value. */
function read(pieces: readonly string[]) {
  const json = new LooseJson();
  let taken = 0;
  for (const piece of pieces) if (!json.isComplete()) taken += json.add(piece);
  return { taken, isComplete: json.isComplete(), strict: json.said() };
}

const signs = `{ } [ ] : , " ' \\ u 1 a é . - + True null NaN x4 00e9 json \`\`\` {"a":1`.split(
  ' ',
);
const halves = ['\\ud83d', '\\uDE00', '\ud83d', '\ude00', '😀'];
const texts = fc
  .array(fc.constantFrom(...signs, ...halves, ' ', '\n', '\0', '{"a":', '"k":'), { maxLength: 20 })
  .map((all) => all.join(''));

test('whatever is complete parses, and no cut between pieces changes it', () => {
  const property = fc.property(texts, (text) => {
    const whole = read([text]);
    assert.deepEqual(read(text.split('')), whole);
    assert.ok(whole.strict.isWellFormed());
    if (whole.isComplete)
      assert.doesNotMatch(JSON.stringify(JSON.parse(whole.strict)), /\\ud[89a-f]/);
  });
  fc.assert(property, { numRuns: 3_000 });
});

test('strict JSON stays as it is, and its beginning too', () => {
  const property = fc.property(fc.json(), fc.nat(), (given, length) => {
    const text = `{"a": ${given} }`;
    assert.deepEqual(read([text]), { taken: text.length, isComplete: true, strict: text });
    const { isComplete, strict } = read([text.slice(0, length % text.length)]);
    assert.ok(!isComplete && text.startsWith(strict));
  });
  fc.assert(property, { numRuns: 500 });
});

test('a dictionary of Python is the same value, and ends where it ends', () => {
  const text = String.raw`{'a': "it's", 'b': 'say "\'x\'" \x41', 'c': [True, None, nan,],}`;
  const value = { a: "it's", b: `say "'x'" A`, c: [true, null, null] };
  const { strict, taken } = read([`${text} more`]);
  assert.deepEqual(JSON.parse(strict), value);
  assert.equal(taken, text.length);
});

for (const text of ['{"a" 1}', '{"a":1 "b":2}', '{"a":[1}', '{"a":01}', '{"a":}', '{,}', '{a}'])
  test(`${text} has no plain meaning, so nothing after its fault is said`, () => {
    const { isComplete, strict } = read([text]);
    assert.equal(isComplete, false);
    assert.ok(text.startsWith(strict) || strict === '{"a"');
  });

for (const [text, meant] of [
  [String.raw`\ud83d\ude00`, '😀'],
  [String.raw`\uD83D\uDE00!`, '😀!'],
  ['\ud83d\\ude00', '😀'],
  ['\\ud83d\ude00', '😀'],
  ['😀', '😀'],
  [String.raw`\ud83d`, '\ufffd'],
  [String.raw`\ud83d\n`, '\ufffd\n'],
  [String.raw`\ud83d\x41`, '\ufffdA'],
  [String.raw`\ud83d\ud83d\ude00`, '\ufffd😀'],
  [String.raw`\ude00\ud83d`, '\ufffd\ufffd'],
  ['\ud83dx\ude00', '\ufffdx\ufffd'],
  [String.raw`\\ud83d\\ude00`, String.raw`\ud83d\ude00`],
] as const)
  test(`${JSON.stringify(text)} is ${JSON.stringify(meant)}, however it is cut`, () => {
    const all = `{"a":"${text}"}`;
    for (let at = 0; at <= all.length; at++) {
      const { strict, isComplete } = read([all.slice(0, at), all.slice(at)]);
      assert.deepEqual([JSON.parse(strict), isComplete], [{ a: meant }, true]);
    }
  });
