import { ApiError } from '../core/errors.ts';
import { headerValues } from '../lib/outbound/headers.ts';

/** The header `Prefer`. Preferences other than `wait` are ignored, as RFC 7240 asks. */

export const preferredMaxSeconds = 120;
const usualSeconds = 60;

/**
 * Seconds that the caller wants to wait for the result; 0 if it does not ask for a wait.
 *
 * @throws ApiError `bad_request`
 */
export function preferredWait(rawHeaders: readonly string[]): number {
  const preferences = headerValues(rawHeaders, 'prefer').flatMap((value) => value.split(','));
  for (const preference of preferences) {
    const [, name, value] = /^\s*([^\s=;]+)\s*(?:=([^;]*))?/.exec(preference) ?? [];
    if (name?.toLowerCase() !== 'wait') continue;
    if (value === undefined) return usualSeconds;
    const seconds = /^\s*("?)(\d{1,9})\1\s*$/.exec(value)?.[2];
    if (seconds === undefined) throw badWait();
    return Math.min(Number(seconds), preferredMaxSeconds);
  }
  return 0;
}

function badWait(): ApiError {
  return new ApiError('bad_request', {
    message: `Prefer must be wait=SECONDS, with a whole number of seconds. The longest wait is ${preferredMaxSeconds}.`,
    param: 'Prefer',
  });
}
