import { ApiError } from '../core/errors.ts';
import { isUuid } from '../lib/id.ts';

/** An id in the path or the query, as rows have it; null if it is none. */
export function idIn(value: unknown): string | null {
  const id = typeof value === 'string' ? value.toLowerCase() : '';
  return isUuid(id) ? id : null;
}

/** An id, as `idIn` reads it. Throws `not_found` if it is none. */
export function requireId(value: unknown): string {
  const id = idIn(value);
  if (id !== null) return id;
  throw new ApiError('not_found');
}
