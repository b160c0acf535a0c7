/**
 * Whether the last check of a row's model and price is too old, and whether a model will soon be
 * shut down. Days are written 2026-11-22. Pure.
 */

import type { Model } from './catalog.ts';
import { dayMs } from '../../lib/calendar-day.ts';

/** A check is too old after this many days: vendors change prices and models about as often. */
export const priceAgeDays = 60;
/** How many days ahead a shutdown is reported. */
export const shutdownAheadDays = 60;

/** Whether the last check is too old. Rows without a day have no vendor to check. */
export function isPriceOld({ checked_on }: Pick<Model, 'checked_on'>, today: string): boolean {
  return checked_on !== null && daysFrom(checked_on, today) > priceAgeDays;
}

/** Whether the model has been shut down by today, or will be soon. */
export function isShutdownNear(day: string, today: string): boolean {
  return daysFrom(today, day) <= shutdownAheadDays;
}

/** A sentence about the rows of one file that need a check; null if there are none. */
export function oldPricesIn(rows: readonly Model[], today: string): string | null {
  const old = rows.filter((row) => isPriceOld(row, today));
  if (old.length === 0) return null;
  const oldest = old.map(({ checked_on }) => checked_on!).reduce((a, b) => (a < b ? a : b));
  const which = old.length === 1 ? 'one row was' : `${old.length} rows were`;
  const named = old.slice(0, idsNamed).map(({ id }) => id);
  const more = old.length > idsNamed ? ', …' : '';
  return (
    `${which} last checked more than ${priceAgeDays} days ago, the oldest on ${oldest}: ` +
    `${named.join(', ')}${more}`
  );
}

/** Maximum number of ids that are named: enough to find the rest. */
const idsNamed = 5;

export function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(time) && new Date(time).toISOString() === `${text}T00:00:00.000Z`;
}

export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function daysFrom(day: string, to: string): number {
  return (Date.parse(to) - Date.parse(day)) / dayMs;
}
