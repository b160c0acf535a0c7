/**
 * Keys are made by us from ids, so a bad one is a fault of ours; it is refused before it can name
 * anything outside the store. No part begins with a dot: that shuts out `..` and the store's own
 * hidden folders.
 */

const part = '[a-z0-9_-][a-z0-9_.-]*';
const shape = new RegExp(`^${part}(?:/${part})*$`);

/** S3 takes 1024 bytes, a file system 255 a part; a prefix of the operator's needs room as well. */
const maxLength = 512;
const maxPartLength = 200;

/** Throws `TypeError` where `key` is no key. */
export function assertKey(key: string): void {
  const fits =
    typeof key === 'string' &&
    key.length <= maxLength &&
    shape.test(key) &&
    key.split('/').every((each) => each.length <= maxPartLength);
  if (!fits) throw new TypeError(`not a storage key: ${JSON.stringify(key)}`);
}

/** Throws `RangeError` where the range cannot lie inside any object. */
export function assertRange(range: { start: number; end: number }): void {
  const { start, end } = range;
  const fits = Number.isSafeInteger(start) && Number.isSafeInteger(end) && 0 <= start;
  if (!fits || end < start) throw new RangeError(`not a range: ${start}-${end}`);
}
