/** Base62: the digits, then A to Z, then a to z. Safe in a URL; a double click selects all. */

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * The largest multiple of 62 in a byte. Bytes from here on would make the first eight characters
 * more frequent than others.
 */
const fairBelow = 248;

/** `length` characters, each of the 62 equally likely. `random` returns that many new bytes. */
export function randomBase62(length: number, random: (bytes: number) => Buffer): string {
  let text = '';
  while (text.length < length) {
    for (const byte of random(length - text.length)) {
      if (byte < fairBelow) text += alphabet[byte % 62];
    }
  }
  return text;
}

/**
 * Writes a whole number ≥ 0 with exactly `width` characters, padded with zeros.
 * @throws RangeError if the value is not a whole number ≥ 0 or does not fit.
 */
export function encodeBase62(value: number, width: number): string {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`no whole number: ${value}`);
  let text = '';
  for (let rest = value; text.length < width; rest = Math.floor(rest / 62)) {
    text = alphabet.charAt(rest % 62) + text;
  }
  if (value >= 62 ** width) throw new RangeError(`${value} does not fit ${width} characters`);
  return text;
}
