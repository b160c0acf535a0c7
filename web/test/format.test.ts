/** A text is said in the chosen language, in its plural form and with its values. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatText, type TextPair } from '../src/texts/format.ts';

const days: TextPair = [
  ['{{count}} day', '{{count}} days'],
  ['{{count}} день', '{{count}} дня', '{{count}} дней', '{{count}} дня (дробь)'],
];
const noFractions: TextPair = [
  ['{{count}} file', '{{count}} files'],
  ['{{count}} файл', '{{count}} файла', '{{count}} файлов'],
];
const greeting: TextPair = ['{{who}}, it is {{who}} of {{place}}.', '{{who}} из {{place}}.'];

const cases: [TextPair, Parameters<typeof formatText>[2], english: string, russian: string][] = [
  [days, { count: 0 }, '0 days', '0 дней'],
  [days, { count: 1 }, '1 day', '1 день'],
  [days, { count: 3 }, '3 days', '3 дня'],
  [days, { count: 11 }, '11 days', '11 дней'],
  [days, { count: 21 }, '21 days', '21 день'],
  [days, { count: 1.5 }, '1.5 days', '1.5 дня (дробь)'],
  [noFractions, { count: 2.5 }, '2.5 files', '2.5 файлов'],
  // A value that looks like a place for one, or like a pattern, is text; a missing one is nothing.
  [
    greeting,
    { who: '{{place}}', place: '$&' },
    '{{place}}, it is {{place}} of $&.',
    '{{place}} из $&.',
  ],
  [greeting, { who: null, place: 0 }, ', it is  of 0.', ' из 0.'],
];

for (const [said, values, english, russian] of cases)
  test(`${JSON.stringify(values)} makes “${english}” and “${russian}”`, () => {
    assert.equal(formatText('en', said, values), english);
    assert.equal(formatText('ru', said, values), russian);
  });
