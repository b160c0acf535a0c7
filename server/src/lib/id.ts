import { uuidv7 } from 'uuidv7';

/** A new UUIDv7 in lower case. Ids of one process sort in the order in which they were made. */
export function newId(): string {
  return uuidv7();
}

/** The lowest id of a moment (ms since 1970); ids begin with their time of creation. */
export function leastIdAt(ms: number): string {
  const hex = Math.max(0, Math.min(ms, 2 ** 48 - 1))
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Every id of a row lies between these two. */
export const firstId = '00000000-0000-0000-0000-000000000000';
export const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** An id is made shortly before its row is written, by a machine whose clock may differ. */
const slackMs = 60_000;

/** Bounds on the ids of rows written between two moments (ms since 1970; null: unbounded). */
export function idsWritten(
  from: number | null,
  to: number | null,
): { first: string; last: string } {
  return {
    first: from === null ? firstId : leastIdAt(from - slackMs),
    last: to === null ? lastId : leastIdAt(to + slackMs),
  };
}

/** When an id was created, in milliseconds since 1970. */
export function timeOfId(id: string): number {
  return Number.parseInt(dashless(id).slice(0, 12), 16);
}

/** The 32 hexadecimal digits of a UUID. */
export function dashless(uuid: string): string {
  return uuid.replaceAll('-', '');
}

/** The UUID of 32 hexadecimal digits. */
export function withDashes(hex: string): string {
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${groups.join('-')}-${hex.slice(20)}`;
}

/** Whether the value is a UUID in its canonical form: lower case, four dashes, any version. */
export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && value.length === 36 && form.test(value);
}

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
