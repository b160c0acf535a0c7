import type { FastifyRequest } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { COLUMN_MAX } from '../core/price/money.ts';
import { unseen } from '../core/account/name.ts';
import { isUuid } from '../lib/id.ts';

/** What a call of the web pages says, field by field. Each throws `bad_request` and names it. */

type Form = Record<string, unknown>;

function bad(name: string, rule: string): ApiError {
  return new ApiError('bad_request', { message: `${name} must be ${rule}.`, param: name });
}

/** Null where it is left out, null or empty; else as `read` has it. */
export function optional<T>(form: Form, name: string, read: (form: Form, name: string) => T) {
  const value = form[name];
  return value === undefined || value === null || value === '' ? null : read(form, name);
}

/** Whole micro-USD above 0. */
export function amount(form: Form, name: string): bigint {
  const size = signedAmount(form, name);
  if (size > 0n) return size;
  throw bad(name, 'more than 0');
}

/** Whole micro-USD, with a minus where it takes. */
export function signedAmount(form: Form, name: string): bigint {
  const value = form[name];
  const size = typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? BigInt(value) : null;
  if (size !== null && size <= COLUMN_MAX && size >= -COLUMN_MAX) return size;
  throw bad(name, 'whole micro-USD as a decimal text, such as "2500000" for 2.50 USD');
}

export function whole(form: Form, name: string, min: number, max: number): number {
  const value = form[name];
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max)
    return value as number;
  throw bad(name, `a whole number from ${min} to ${max}`);
}

export function flag(form: Form, name: string): boolean {
  const value = form[name];
  if (typeof value === 'boolean') return value;
  throw bad(name, 'true or false');
}

export function choice<T extends string>(form: Form, name: string, choices: readonly T[]): T {
  const value = form[name];
  if (choices.includes(value as T)) return value as T;
  throw bad(name, `one of ${choices.join(', ')}`);
}

/** A moment in UTC; later than any plan, and within what the database can keep, at most. */
export function moment(form: Form, name: string): Date {
  const value = form[name];
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
  const time = isTime ? new Date(value) : new Date(NaN);
  if (time.getUTCFullYear() >= 1970 && time.getUTCFullYear() < 2200) return time;
  throw bad(name, 'a time in UTC, such as 2027-01-31T00:00:00.000Z');
}

/** A parameter of the address; null where it is not there or empty. */
export function parameter(req: FastifyRequest, name: string, max = 300): string | null {
  const value = (req.query as Form)[name];
  if (value === undefined || value === '') return null;
  if (typeof value === 'string' && value.length <= max && !unseen.test(value)) return value;
  throw bad(name, `one text of at most ${max} characters`);
}

/** A time to come; null where none is given. Throws `bad_request`. */
export function timeToCome(value: string | null | undefined, name: string): Date | null {
  const time = value ? new Date(value) : null;
  if (time === null || time.getTime() > Date.now()) return time;
  throw bad(name, 'a time to come in UTC, such as 2027-01-31T00:00:00.000Z');
}

/** An id in the path or the address. */
export function idOf(value: unknown): string {
  const id = typeof value === 'string' ? value.toLowerCase() : '';
  if (isUuid(id)) return id;
  throw new ApiError('not_found');
}

export interface Page {
  limit: number;
  cursor: string | null;
}

const pageMax = 100;

/** `limit` and `cursor` of a list; unless it says otherwise, its cursor is an id. */
export function pageOf(
  req: FastifyRequest,
  usual = 25,
  isCursor: (cursor: string) => boolean = isUuid,
): Page {
  const cursor = parameter(req, 'cursor');
  if (cursor !== null && !isCursor(cursor)) throw bad('cursor', 'a next_cursor of this list');
  const text = parameter(req, 'limit');
  const limit = text === null ? usual : /^\d{1,4}$/.test(text) ? Number(text) : NaN;
  if (limit >= 1 && limit <= pageMax) return { limit, cursor };
  throw bad('limit', `a whole number from 1 to ${pageMax}`);
}

/** A page of rows, of which one more was read than is shown. */
export function pageFrom<Row extends { id: string }, Shown>(
  rows: Row[],
  { limit }: { limit: number },
  show: (row: Row) => Shown,
  cursorOf: (row: Row) => string = ({ id }) => id,
): { data: Shown[]; next_cursor: string | null } {
  const shown = rows.slice(0, limit);
  const next_cursor = rows.length > limit ? cursorOf(shown.at(-1)!) : null;
  return { data: shown.map(show), next_cursor };
}
