import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { boundTokens, countTokens } from './tokens.ts';

describe('boundTokens', () => {
  /**
   * `real`: what the greediest of nine vocabularies spends (o200k, cl100k, Llama 2 and 3, Mistral,
   * Claude 2, Qwen 3, DeepSeek 3, Gemma 3), counted with their own tokenisers.
   */
  const measured: [text: string, real: number, bound: number][] = [
    ['', 0, 0],
    ['hello', 1, 4],
    ['The quick brown fox jumps over the lazy dog.', 12, 32],
    ['a b c d e f', 6, 6],
    ['1234567890', 10, 10],
    ['3.14, 2.71, 1.41', 16, 16],
    ['deadbeef', 3, 7],
    ['\n\n\n\n', 4, 4],
    ['                ', 1, 7],
    ['今日は天気が良い', 10, 24],
    ['Жизнь прекрасна', 10, 20],
    ['Ъ '.repeat(300), 601, 900],
    [' ЪЪ'.repeat(300), 1_200, 1_500],
    ['Щ'.repeat(300), 600, 600],
    ['gq'.repeat(300), 600, 600],
    ['qaxa'.repeat(150), 450, 600],
    [' uo'.repeat(150), 300, 300],
    ['qo'.repeat(300), 600, 600],
    ['9,  '.repeat(150), 599, 600],
    ['  ъ'.repeat(150), 450, 500],
    ['qQ'.repeat(200), 400, 400],
    ['Yi'.repeat(30), 60, 60],
    ['ﷺ'.repeat(100), 1_500, 3_300],
    ['ﷻ'.repeat(100), 700, 1_500],
    ['㍿'.repeat(100), 500, 1_200],
    ['ཷ'.repeat(100), 900, 900],
    ['½'.repeat(100), 201, 500],
    ['ᏣᎳᎩ', 9, 9],
    ['😀', 2, 4],
  ];
  for (const [text, real, bound] of measured) {
    test(`${JSON.stringify(text).slice(0, 30)} costs at most ${bound}, in truth ${real}`, () => {
      assert.equal(boundTokens(text), bound);
      assert.ok(bound >= real);
    });
  }

  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));

  test('lies between a third of the bytes and all of them, as a tokeniser may rewrite them', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = Buffer.byteLength(text);
        const rewritten = [...text].reduce(
          (sum, each) =>
            sum + Math.max(Buffer.byteLength(each), Buffer.byteLength(each.normalize('NFKC'))),
          0,
        );
        assert.ok(boundTokens(text) <= rewritten);
        assert.ok(boundTokens(text) >= bytes / 3);
      }),
    );
  });

  test('never falls when the text grows, and two halves cost no less than the whole', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        assert.ok(boundTokens(a + b) >= boundTokens(a));
        assert.ok(boundTokens(a) + boundTokens(b) >= boundTokens(a + b));
      }),
    );
  });

  test('stops once there is enough', () => {
    const text = 'word '.repeat(1_000_000);
    assert.equal(boundTokens(text, 100), 100);
    assert.equal(boundTokens('word', 100), boundTokens('word'));
  });
});

describe('countTokens', () => {
  test('is a quarter of the bytes, rounded up', () => {
    assert.deepEqual(
      ['', 'a', 'abcd', 'abcde', 'é'.repeat(4), '漢字'].map(countTokens),
      [0, 1, 1, 2, 2, 2],
    );
  });

  test('is never more than the bound', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        assert.ok(countTokens(text) <= boundTokens(text));
      }),
    );
  });
});
