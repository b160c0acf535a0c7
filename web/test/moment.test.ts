/** Moments as the pages show them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addToDay, weeksOf } from '../src/components/date/days.ts';
import { momentText } from '../src/components/moment.ts';

const now = new Date(2026, 10, 29, 0, 30);
const cases: [at: Date, english: string, russian: string][] = [
  [new Date(2026, 10, 29, 0, 5), '00:05', '00:05'],
  [new Date(2026, 10, 29, 23, 59), '23:59', '23:59'],
  [new Date(2026, 10, 28, 23, 59), 'yesterday 23:59', 'вчера 23:59'],
  [new Date(2026, 10, 28, 0, 0), 'yesterday 00:00', 'вчера 00:00'],
  [new Date(2026, 10, 27, 23, 59), '27 Nov', '27 нояб.'],
  [new Date(2026, 10, 30, 1, 0), '30 Nov', '30 нояб.'],
  [new Date(2026, 0, 1, 12, 0), '1 Jan', '1 янв.'],
  [new Date(2025, 11, 31, 12, 0), '31 Dec 2025', '31 дек. 2025 г.'],
];
for (const [at, english, russian] of cases)
  test(`${at.toString()} is shown as ${english}`, () => {
    assert.equal(momentText(at, now, 'en-GB'), english);
    assert.equal(momentText(at, now, 'ru'), russian);
  });

test('the first of January is the day after yesterday of another year', () => {
  const newYear = new Date(2027, 0, 1, 9, 0);
  assert.equal(momentText(new Date(2026, 11, 31, 18, 30), newYear, 'en-GB'), 'yesterday 18:30');
});

test('a month has the weeks from Monday on in which its days lie', () => {
  const weeks = weeksOf('2026-11-15');
  assert.deepEqual(
    [weeks[0]![0], weeks.at(-1)!.at(-1), weeks.length],
    ['2026-10-26', '2026-12-06', 6],
  );
  assert.equal(weeksOf('2027-02-01').flat().length, 28);
});

test('a month later is the same day, or the last one of that month', () => {
  assert.equal(addToDay('2026-01-31', { months: 1 }), '2026-02-28');
  assert.equal(addToDay('2026-03-31', { months: -1 }), '2026-02-28');
  assert.equal(addToDay('2026-11-29', { months: 2 }), '2027-01-29');
  assert.equal(addToDay('2026-12-31', { days: 1 }), '2027-01-01');
  assert.equal(addToDay('2026-03-01', { days: -1 }), '2026-02-28');
});
