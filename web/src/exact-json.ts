/**
 * Integers beyond 2^53, such as seeds of 64 bits, with all their digits: as raw JSON, which
 * `JSON.stringify` writes unchanged. Older browsers do not have that and round such integers.
 */

export interface LongInteger {
  readonly rawJSON: string;
}

// TypeScript's library does not declare these yet.
const json: JSON & {
  rawJSON?: (text: string) => LongInteger;
  isRawJSON?: (value: unknown) => boolean;
} = JSON;

/** `JSON.parse` that keeps integers of any length. Throws a SyntaxError. */
export function exactJson(text: string): unknown {
  const mayHaveLong = json.rawJSON !== undefined && /[\s:,[]-?\d{16}/.test(` ${text}`);
  return mayHaveLong ? JSON.parse(text, withExactInteger) : JSON.parse(text);
}

function withExactInteger(
  _name: string,
  value: unknown,
  { source = '' }: { source?: string } = {},
): unknown {
  const isRounded = Number.isInteger(value) && !Number.isSafeInteger(value);
  return isRounded && /^-?\d+$/.test(source) ? json.rawJSON!(source) : value;
}

export function isLong(value: unknown): value is LongInteger {
  return json.isRawJSON?.(value) === true;
}

/** The value of a number as it was typed; undefined if it is none. */
export function typedNumber(typed: string | number): number | LongInteger | string | undefined {
  const number = typed === '' ? Number.NaN : Number(typed);
  if (Number.isNaN(number)) return undefined;
  if (Number.isSafeInteger(number) || !/^-?\d+$/.test(String(typed))) return number;
  // The service refuses a text by the name of its field.
  return json.rawJSON?.(String(BigInt(typed))) ?? String(typed);
}

/** The nearest number. */
export function numberIn<Other>(value: Other | LongInteger): number | Other {
  return isLong(value) ? Number(value.rawJSON) : (value as Other);
}

/** The text of a number in its field, and an empty one for another value. */
export function shownNumber(value: unknown): number | string {
  if (typeof value === 'number') return value;
  return isLong(value) ? value.rawJSON : '';
}
