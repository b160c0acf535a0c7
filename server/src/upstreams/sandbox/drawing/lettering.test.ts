import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { lineWidth, wrap } from './lettering.ts';

const fontSize = 22;
const textWidth = 958;

/** How many characters were read while `work` ran: the same number on every machine. */
function charactersRead(work: () => void): number {
  // All texts are walked by it for the time of the work.
  const texts = Object.getPrototypeOf('') as { [Symbol.iterator]: () => Iterator<string> };
  const walk = texts[Symbol.iterator];
  let read = 0;
  texts[Symbol.iterator] = function* (this: string): Generator<string> {
    for (const char of { [Symbol.iterator]: () => walk.call(this) }) {
      read++;
      yield char;
    }
  };
  try {
    work();
  } finally {
    texts[Symbol.iterator] = walk;
  }
  return read;
}

/** Takes away the last character until the rest fits. */
function slowlyShortened(text: string, size: number, width: number): string {
  const chars = [...text];
  while (chars.length > 1 && lineWidth(`${chars.join('')}…`, size) > width) chars.pop();
  return `${chars.join('').trimEnd()}…`;
}

describe('wrap', () => {
  const kinds = { Latin: 'x', Russian: 'я', Chinese: '山', narrow: '.', astral: '😀' };
  for (const [name, char] of Object.entries(kinds)) {
    test(`does ten times the work for ten times as long a word: ${name}`, () => {
      const [short, long] = [400, 4000].map((length) =>
        charactersRead(() => wrap(char.repeat(length), fontSize, textWidth, 2)),
      );
      assert.ok(short! >= 400, `${short}`);
      assert.ok(long! <= 11 * short!, `${short} characters read, then ${long}`);
    });
  }

  test('leaves of a word that is too long as much as fits before the ellipsis', () => {
    const [line] = wrap('x'.repeat(10_000), fontSize, textWidth, 2);
    assert.equal(line, slowlyShortened('X'.repeat(200), fontSize, textWidth));
    assert.ok(lineWidth(line!, fontSize) <= textWidth);
    assert.ok(lineWidth(`X${line}`, fontSize) > textWidth);
  });

  test('shortens whatever is too wide to the very same letters as one by one', () => {
    const texts = fc.string({ unit: fc.constantFrom(...'IWЖЯ.1…山😀'), minLength: 1 });
    const sizes = fc.integer({ min: 7, max: 90 });
    const widths = fc.double({ min: -20, max: 4000, noNaN: true });
    fc.assert(
      fc.property(texts, sizes, widths, (text, size, width) => {
        const fits = lineWidth(text, size) <= width;
        const line = fits ? text : slowlyShortened(text, size, width);
        assert.deepEqual(wrap(text, size, width, 1), [line]);
      }),
    );
  });
});
