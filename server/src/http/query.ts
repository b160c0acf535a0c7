import { ApiError } from '../core/errors.ts';

/** Reads parameters of an address. All throw `bad_request` and name the parameter. */

export type Query = Record<string, unknown>;

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

function badParameter(param: string, rule: string): ApiError {
  return new ApiError('bad_request', { message: `The parameter ${param} ${rule}.`, param });
}
