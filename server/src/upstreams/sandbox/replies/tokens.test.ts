import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { countTokens, tokenise } from './tokens.ts';

describe('tokens of the sandbox', () => {
  const cases: [text: string, tokens: string[]][] = [
    ['', []],
    ['   ', []],
    ['one two', ['one', ' two']],
    ['sandbox', ['sand', 'box']],
    ['hello world ', ['hell', 'o', ' worl', 'd ']],
    ['море', ['мо', 'ре']],
    ['日本', ['日', '本']],
    ['👍👍', ['👍', '👍']],
    ['\n\na', ['\n\na']],
  ];
  for (const [text, expected] of cases) {
    test(`${JSON.stringify(text)} has ${expected.length}`, () => {
      assert.deepEqual(tokenise(text), expected);
      assert.equal(countTokens(text), expected.length);
    });
  }

  test('joined, they are the text; each has at most four bytes beside its spaces', () => {
    const text = fc.string({ unit: 'binary', maxLength: 200 }).filter((one) => /\S/u.test(one));
    fc.assert(
      fc.property(text, (one) => {
        const tokens = tokenise(one);
        assert.equal(tokens.join(''), one);
        assert.equal(tokens.length, countTokens(one));
        for (const token of tokens) assert.ok(Buffer.byteLength(token.replace(/\s/gu, '')) <= 4);
      }),
    );
  });

  test('a long text without spaces takes no longer than its length', () => {
    assert.equal(countTokens('a'.repeat(1_000_000)), 250_000);
  });

  test('counting stops where there are enough, and not before', () => {
    const text = fc.string({ unit: 'binary', maxLength: 100 });
    fc.assert(
      fc.property(text, fc.nat({ max: 30 }), (one, enough) => {
        assert.equal(countTokens(one, enough), Math.min(countTokens(one), enough));
      }),
    );
  });

  test('every blank that the rule knows parts words, and nothing else does', () => {
    for (let code = 0; code < 0x3100; code++) {
      const between = String.fromCodePoint(code);
      assert.equal(
        countTokens(`a${between}b`) === 2,
        /\s/u.test(between) || code >= 0x800,
        between,
      );
    }
  });
});
