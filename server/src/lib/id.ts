import { uuidv7 } from 'uuidv7';

/** A new UUIDv7 in lower case. Ids of one process sort in the order they were made. */
export function newId(): string {
  return uuidv7();
}

/** True for the one canonical spelling only: lower case, four dashes, any version. */
export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && value.length === 36 && form.test(value);
}

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
