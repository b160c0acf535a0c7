import { ApiError } from './errors.ts';

export function badField(field: string, allowed: string): ApiError {
  return badRequest(field, `${field} must be ${allowed}.`);
}

export function badRequest(param: string | null, message: string): ApiError {
  return new ApiError('bad_request', { message, param: param ?? undefined });
}
