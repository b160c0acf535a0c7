import { ApiError } from '../core/errors.ts';
import { dayMs, isCalendarDay } from '../lib/calendar-day.ts';
import * as s from './schemas/schema.ts';
import { badField } from './schemas/validate.ts';

/** The period and the page of a call that sums up usage, for operators and for accounts. */

const usualDays = 30;
/** Maximum days: `stored` if sums per day are stored, `read` if every request is read. */
export const daysMax = { stored: 92, read: 31 };

const dayRule = 'a day from 1970 on, such as 2027-01-31';
const day = (description: string) =>
  s.text(description, { pattern: '^\\d{4}-\\d{2}-\\d{2}$', rule: dayRule });

export const usagePage = {
  from: s.optional(day('The first day (UTC). Default: 30 days before `to`.')),
  to: s.optional(day('The day after the last one. Default: tomorrow.')),
  limit: s.pageQuery(100, 1000).limit,
  cursor: s.optional(s.text('The `next_cursor` of the page before.', { maxLength: 8000 })),
};

/** Returns the sum, or throws `bad_request` if it took too long and so is null or false. */
export function requireSum<T>(sum: T | null | false): T {
  if (sum !== null && sum !== false) return sum;
  throw new ApiError('bad_request', {
    message: 'There are too many requests in these days to add up. Ask for fewer days.',
    param: 'from',
  });
}

export function requirePeriod(query: { from?: string; to?: string }, most: number) {
  const tomorrow = new Date(Date.now() + dayMs).toISOString().slice(0, 10);
  const to = requireDay('to', query.to) ?? tomorrow;
  const end = Date.parse(to);
  const from =
    requireDay('from', query.from) ?? new Date(end - usualDays * dayMs).toISOString().slice(0, 10);
  if (end - Date.parse(from) > most * dayMs)
    throw badField('from', `at most ${most} days before "to" with these groups`, { maximum: most });
  return { from, to };
}

function requireDay(name: string, given: string | undefined): string | null {
  if (given === undefined) return null;
  if (isCalendarDay(given) && Date.parse(given) >= 0) return given;
  throw badField(name, dayRule);
}

/**
 * A page of rows. `rows` has one more than the page shows, if there is a next page. `valuesOf`
 * gives the values that a row is grouped by.
 */
export function usagePageFrom<Row>(
  rows: Row[],
  limit: number,
  valuesOf: (row: Row) => (string | null)[],
): { data: Row[]; next_cursor: string | null } {
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  const next_cursor =
    last && rows.length > limit
      ? Buffer.from(JSON.stringify(valuesOf(last))).toString('base64url')
      : null;
  return { data, next_cursor };
}

/** The group values of the last row of the page before; null on the first page. */
export function requireValues(cursor: string | undefined, count: number): (string | null)[] | null {
  if (cursor === undefined) return null;
  const values = parsed(Buffer.from(cursor, 'base64url').toString());
  const isValue = (value: unknown): value is string | null =>
    value === null || (typeof value === 'string' && value.isWellFormed() && !value.includes('\0'));
  if (Array.isArray(values) && values.length === count && values.every(isValue)) return values;
  throw badField('cursor', s.cursorRule);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
