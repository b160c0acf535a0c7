import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { promptLine } from './prompt-line.ts';

const long = (unit: string) => unit.repeat(30_000 / unit.length);

describe('the line of an input', () => {
  const lines: [what: string, input: Record<string, unknown>, line: string][] = [
    ['is its prompt', { prompt: 'a cat', seed: 7 }, 'a cat'],
    ['joins the lines of a prompt', { prompt: ' \n a cat\r\n\tin a  hat\n' }, 'a cat in a hat'],
    ['keeps Arabic', { prompt: 'قطة على السطح' }, 'قطة على السطح'],
    ['keeps emoji whole', { prompt: '👩‍🚀 🏴‍☠️' }, '👩‍🚀 🏴‍☠️'],
    ['composes letters, so that a search finds them', { prompt: 'e\u0301te\u0301' }, 'été'],
    ['cuts a long prompt', { prompt: long('abcdefghij') }, `${'abcdefghij'.repeat(50)}…`],
    ['cuts between characters, not in one', { prompt: long('🦊') }, `${'🦊'.repeat(500)}…`],
    ['keeps a prompt of just that length', { prompt: '🦊'.repeat(500) }, '🦊'.repeat(500)],
    [
      'has the other short values without a prompt',
      { image_url: 'https://example.com/a.png', scale: 2, format: 'png', tile: false },
      'scale: 2 · format: png · tile: false',
    ],
    ['has them for a blank prompt', { prompt: ' \n', seed: 7 }, 'seed: 7'],
    ['leaves out data', { mask: 'data:image/png;base64,AAAA' }, ''],
    ['is empty for an input that says nothing', { images: [1], options: {} }, ''],
    ['has the other values for a prompt of another type', { prompt: ['a'], seed: 1 }, 'seed: 1'],
  ];
  for (const [what, input, line] of lines) test(what, () => assert.equal(promptLine(input), line));

  // A pattern that goes back over white space would run until the test's time limit.
  test('is found, however much white space there is', () => {
    assert.equal(promptLine({ prompt: `${' '.repeat(1_000_000)}a cat` }), 'a cat');
    assert.match(promptLine({ prompt: `a${' '.repeat(1_000_000)}cat` }), /^a/);
  });
});
