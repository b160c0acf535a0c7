import { ApiError } from '../errors.ts';

/** A refusal that names a field of OpenAI's Images: "size must be …". */
export function badField(field: string, allowed: string): ApiError {
  return badRequest(field, `${field} must be ${allowed}.`);
}

export function badRequest(param: string, message: string): ApiError {
  return new ApiError('bad_request', { message, param });
}
