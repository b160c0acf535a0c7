import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Model } from './catalog.ts';
import { dayOf, isDay, isPriceOld, isShutdownNear, oldPricesIn } from './checked-on.ts';

const row = (id: string, checked_on: string | null) => ({ id, checked_on }) as Model;

test('a price is old when sixty days have gone by since it was looked at', () => {
  assert.equal(isPriceOld(row('a', '2026-11-22'), '2026-11-22'), false);
  assert.equal(isPriceOld(row('a', '2026-11-22'), '2027-01-21'), false);
  assert.equal(isPriceOld(row('a', '2026-11-22'), '2027-01-22'), true);
  assert.equal(isPriceOld(row('a', null), '2099-01-01'), false);
});

test('a shutdown is near within sixty days, and once it has passed', () => {
  assert.equal(isShutdownNear('2027-01-21', '2026-11-22'), true);
  assert.equal(isShutdownNear('2027-01-22', '2026-11-22'), false);
  assert.equal(isShutdownNear('2026-11-21', '2026-11-22'), true);
});

test('old rows of a file are told in one sentence', () => {
  const fresh = row('fresh', '2026-11-22');
  assert.equal(oldPricesIn([fresh, row('own', null)], '2026-12-01'), null);
  assert.equal(
    oldPricesIn([fresh, row('a', '2026-06-01')], '2026-12-01'),
    'one row was last checked more than 60 days ago, the oldest on 2026-06-01: a',
  );
  const many = [1, 2, 3, 4, 5, 6].map((n) => row(`m${n}`, `2026-0${n}-01`));
  assert.equal(
    oldPricesIn(many, '2026-12-01'),
    '6 rows were last checked more than 60 days ago, the oldest on 2026-01-01: m1, m2, m3, m4, m5, …',
  );
});

test('a day is one of the calendar', () => {
  assert.equal(dayOf(new Date('2026-11-22T23:59:59Z')), '2026-11-22');
  for (const [text, is] of [
    ['2026-11-22', true],
    ['2026-02-30', false],
    ['', false],
    ['2026-11', false],
  ] as const)
    assert.equal(isDay(text), is, text);
});
