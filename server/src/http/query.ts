import { ApiError } from '../core/errors.ts';
import { isCalendarDay } from '../lib/calendar-day.ts';
import { isUuid } from '../lib/id.ts';

/** Reads parameters of an address. All throw `bad_request` and name the parameter. */

export type Query = Record<string, unknown>;

export function optionalText(query: Query, name: string): string | null {
  const value = query[name];
  if (value === undefined) return null;
  if (typeof value !== 'string' || value === '' || value.length > 300)
    throw badParameter(name, 'must be one value of at most 300 characters');
  if (value.includes('\0')) throw badParameter(name, 'must not contain NUL');
  return value;
}

export function optionalId(query: Query, name: string, rule: string): string | null {
  const value = optionalText(query, name);
  if (value === null || isUuid(value)) return value;
  throw badParameter(name, rule);
}

export function optionalOneOf<T extends string>(
  query: Query,
  name: string,
  allowed: readonly T[],
): T | null {
  const { [name]: value } = query;
  if (value === undefined) return null;
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw badParameter(name, `must be one of ${allowed.join(', ')}`);
  return found;
}

/** Without its zone a time is no moment; and a plus sign of an address is read as a space. */
export const momentRule =
  'a date, or a time with Z or an offset (write + as %2B), such as 2026-01-31T00:00:00Z';

/** In ms since 1970, as precise as a `created_at` is shown. */
export function momentOf(query: Query, name: 'from' | 'to'): number | null {
  const text = optionalText(query, name);
  if (text === null) return null;
  if (!isMoment(text)) throw badParameter(name, `must be ${momentRule}`);
  return Date.parse(text);
}

const momentForm = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** From 1970 on. `Date.parse` alone takes 30 February for 2 March. */
export function isMoment(text: string): boolean {
  const day = momentForm.exec(text)?.[1];
  const ms = day !== undefined && isCalendarDay(day) ? Date.parse(text) : NaN;
  return ms >= 0 && ms < 2 ** 48;
}

export function badParameter(param: string, rule: string): ApiError {
  return new ApiError('bad_request', { message: `The parameter ${param} ${rule}.`, param });
}
