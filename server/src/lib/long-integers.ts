/**
 * Integers that a JavaScript number would round, because they are beyond 2^53: seeds of 64 bits,
 * numeric ids. When JSON is read they become raw JSON values. These keep their digits, and
 * `JSON.stringify` writes them unchanged. They are leaves: `isObject` is false for them.
 */

declare const longInteger: unique symbol;
export type LongInteger = { readonly rawJSON: string; readonly [longInteger]: true };

declare global {
  interface JSON {
    // TypeScript's library does not declare these yet.
    rawJSON(text: string): LongInteger;
    isRawJSON(value: unknown): value is LongInteger;
  }
}

/** `JSON.parse` that keeps integers of any length. Throws a SyntaxError. */
export function exactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return mayBeUnsafe.test(text) && holdsUnsafe(value) ? JSON.parse(text, keepLong) : value;
}

/** Many digits or an exponent, as every integer beyond 2^53 has, and few other texts. */
const mayBeUnsafe = /\d{16}|\d[eE]\+?\d+\s*(?:[,\]}]|$)/;

/**
 * As `exactJson`, for JSON that is only passed on: each number that JavaScript cannot hold keeps
 * its text, such as 1e400 and decimals of many digits.
 */
export function verbatimJson(text: string): unknown {
  return mayBeLost.test(text) ? JSON.parse(text, keepNumber) : exactJson(text);
}

const mayBeLost = /\d[\d.]{18}|(?<![\d.])\d{16}[\d.]|\d[eE][+-]?\d{3}/;

export function isLong(value: unknown): value is LongInteger {
  // Raw JSON values have no prototype. Nearly all others have, which takes less time to see.
  return !(value instanceof Object) && JSON.isRawJSON(value);
}

/** A number of JSON, also one that is a long integer. */
export type JsonNumber = number | LongInteger;

export function isJsonNumber(value: unknown): value is JsonNumber {
  return typeof value === 'number' || isLong(value);
}

/** The digits of a long integer, and any other value as it is. */
export function digitsOf(value: unknown): unknown {
  return isLong(value) ? value.rawJSON : value;
}

/** The integer as a number if that is written with the same digits, otherwise as a long one. */
export function integerOf(value: bigint): JsonNumber {
  const [number, digits] = [Number(value), String(value)];
  return String(number) === digits ? number : JSON.rawJSON(digits);
}

/** A copy with the nearest numbers in place of long integers; the value itself if it has none. */
export function roundLong(value: unknown): unknown {
  if (isLong(value)) return Number(value.rawJSON);
  if (typeof value !== 'object' || value === null || !holdsLong(value)) return value;
  if (Array.isArray(value)) return value.map(roundLong);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, roundLong(each)]));
}

/** Also true for numbers such as 1e300, which are read in the second way without effect. */
const holdsUnsafe = (value: unknown): boolean =>
  some(value, (each) => Number.isInteger(each) && !Number.isSafeInteger(each));

export const holdsLong = (value: unknown): boolean => some(value, isLong);

/** Whether any value within passes the test. Does not recurse, because the depth is unknown. */
function some(value: unknown, test: (value: unknown) => boolean): boolean {
  const stack = [value];
  while (stack.length > 0) {
    const each = stack.pop();
    if (test(each)) return true;
    if (typeof each !== 'object' || each === null) continue;
    for (const inner of Array.isArray(each) ? each : Object.values(each)) stack.push(inner);
  }
  return false;
}

/** A number, such as `9007199254740993.0`, `9.007199254740993e15` or `90071992547409930e-1`. */
const numberForm = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,2}))?$/i;

/** Null for what is no integer, and for exponents from 1e21 on, which are hardly meant exactly. */
function wholeIn(source: string): string | null {
  const [, sign, whole, part = '', exponent = '0'] = numberForm.exec(source) ?? [];
  if (whole === undefined) return null;
  const all = whole + part;
  const point = Math.max(0, whole.length + Number(exponent));
  const digits =
    sign +
    all
      .slice(0, point)
      .padEnd(point, '0')
      .replace(/^0+(?=\d)/, '');
  const isWhole = /^0*$/.test(all.slice(point));
  return isWhole && (Number(exponent) <= 0 || digits.length <= 21) ? digits : null;
}

function keepLong(_name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
  const digits = wholeIn(source ?? '');
  return digits === null || digits === String(value) ? value : JSON.rawJSON(digits);
}

function keepNumber(name: string, value: unknown, context: { source?: string } = {}): unknown {
  const { source } = context;
  if (typeof value !== 'number' || source === undefined) return value;
  const isInteger = value !== 0 && Number.isInteger(value);
  if (isInteger && wholeIn(source) !== null) return keepLong(name, value, context);
  const [, digits = ''] = /^[-0.]*([\d.]*)/.exec(source) ?? [];
  // It was rounded to an integer.
  const isRounded = value === 0 ? digits !== '' : isInteger && Math.abs(value) < 1e20;
  const isLost = !Number.isFinite(value) || digits.length > 18 || isRounded;
  return isLost ? JSON.rawJSON(source) : value;
}
