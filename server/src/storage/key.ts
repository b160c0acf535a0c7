/**
 * This service makes keys from ids, so an invalid key is a bug. It is refused here, before it can
 * name anything outside the store. No part may begin with a dot, which excludes `..` and the
 * store's own hidden folders.
 */

const part = '[a-z0-9_-][a-z0-9_.-]*';
const shape = new RegExp(`^${part}(?:/${part})*$`);

/**
 * S3 allows 1024 bytes, a file system 255 in each part; the operator's prefix needs room as well.
 */
const maxLength = 512;
const maxPartLength = 200;

/** Throws `TypeError` if `key` is not a valid key. */
export function assertKey(key: string): void {
  const fits =
    typeof key === 'string' &&
    key.length <= maxLength &&
    shape.test(key) &&
    key.split('/').every((each) => each.length <= maxPartLength);
  if (!fits) throw new TypeError(`not a storage key: ${JSON.stringify(key)}`);
}

/** Throws `RangeError` if the range cannot lie inside any object. */
export function assertRange(range: { start: number; end: number }): void {
  const { start, end } = range;
  const fits = Number.isSafeInteger(start) && Number.isSafeInteger(end) && 0 <= start;
  if (!fits || end < start) throw new RangeError(`not a range: ${start}-${end}`);
}
