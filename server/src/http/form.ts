import { ApiError } from '../core/errors.ts';
import { isUuid } from '../lib/id.ts';
import { badField } from './schemas/validate.ts';

/** Rules that schemas do not state, and pages of rows. */

/** A future time, or null if none is given. Throws `bad_request`. */
export function timeToCome(value: string | null | undefined, name: string): Date | null {
  const time = value ? new Date(value) : null;
  if (time === null || time.getTime() > Date.now()) return time;
  throw badField(name, 'a future time in UTC, such as 2027-01-31T00:00:00.000Z', {
    reason: 'end_passed',
  });
}

/** An id in the path or the query, as rows have it; null if it is none. */
export function idIn(value: unknown): string | null {
  const id = typeof value === 'string' ? value.toLowerCase() : '';
  return isUuid(id) ? id : null;
}

/** The same. Throws `not_found` if it is none. */
export function requireId(value: unknown): string {
  const id = idIn(value);
  if (id !== null) return id;
  throw new ApiError('not_found');
}

/** A page of rows. `rows` has one more than the page shows, if there is a next page. */
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
