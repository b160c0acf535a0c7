import { ApiError } from './errors.ts';
import type { ReasonDetails } from './reasons.ts';

export function badField(field: string, allowed: string): ApiError {
  return badRequest(field, `${field} must be ${allowed}.`);
}

export function badRequest(param: string | null, message: string): ApiError {
  return new ApiError('bad_request', { message, param: param ?? undefined });
}

/** `param`: the path of the field, such as `messages[0].content`. */
export function badMessages(param: string, wrong: string, details?: ReasonDetails): ApiError {
  return new ApiError('bad_messages', { message: `${param} ${wrong}.`, param, details });
}
