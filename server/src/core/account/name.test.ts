import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lineOf, linesOf } from './name.ts';

describe('a text of several lines', () => {
  const max = 500;
  const cases: [name: string, given: string, kept: string | null][] = [
    ['may be empty', ' \n', ''],
    ['loses the spaces around it', '\n films are slow \n', 'films are slow'],
    ['keeps its line ends in one form', 'one\r\ntwo\nthree', 'one\ntwo\nthree'],
    ['has its characters counted as schemas do', '🎬'.repeat(max), '🎬'.repeat(max)],
    ['has an end', 'a'.repeat(max + 1), null],
    ['has an end, in pictures too', '🎬'.repeat(max + 1), null],
    ['has no tab', 'one\ttwo', null],
    ['has no lone carriage return', 'one\rtwo', null],
    ['has no mark of direction', 'pay \u202eereh', null],
    ['has no invisible space', 'far\u200bebox', null],
    ['has no separator of paragraphs', 'one\u2029two', null],
  ];
  for (const [name, given, kept] of cases)
    test(name, () => assert.equal(linesOf(given, max), kept));
});

describe('a text on one line', () => {
  const cases: [name: string, given: string, kept: string | null][] = [
    ['keeps its spaces', ' INV\u00a01  a ', 'INV\u00a01  a'],
    ['keeps the forms of emoji', '❤\ufe0f shop', '❤\ufe0f shop'],
    ['is in any script', 'متجر', 'متجر'],
    ['has no filler, which is drawn as nothing', '\u3164', null],
    ['has no sign that joins others unseen', 'INV\u034f-1', null],
    ['has no blank of Braille', 'a\u2800', null],
    ['has no form beyond those of emoji', 'a\u{e0101}', null],
  ];
  for (const [name, given, kept] of cases) test(name, () => assert.equal(lineOf(given, 20), kept));
});
