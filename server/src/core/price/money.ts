/**
 * Money is an integer number of micro-USD, held as a bigint. No price or charge passes through a
 * float, where 1.005 * 1e6 is 1004999.9999999999.
 */

/** Micro-USD in one US dollar. */
export const microPerUsd = 1_000_000n;

/** The largest value of a PostgreSQL bigint column. */
export const columnMax = 2n ** 63n - 1n;

/** An amount from zero as JSON has it: a decimal string. */
export const microUsdPattern = '^(0|[1-9][0-9]*)$';

const decimalText = /^(0|[1-9]\d{0,12})(?:\.(\d{1,6}))?$/;

/**
 * "0.0125" → 12500n. Accepts a plain decimal with at most 6 decimals; no sign, exponent or spaces.
 * Throws RangeError for anything else, and for more than a bigint column can hold.
 */
export function parseUsd(text: string): bigint {
  const match = typeof text === 'string' ? decimalText.exec(text) : null;
  if (!match) throw new RangeError(`not an amount in US dollars: "${String(text)}"`);
  const micro = BigInt(match[1]!) * microPerUsd + BigInt((match[2] ?? '').padEnd(6, '0'));
  if (micro > columnMax) throw new RangeError(`more US dollars than can be kept: ${text}`);
  return micro;
}

/**
 * 12500n → "0.0125"; the shortest text that `parseUsd` reads back. Negative amounts start with a
 * minus sign.
 */
export function formatUsd(micro: bigint): string {
  const digits = (micro < 0n ? -micro : micro).toString().padStart(7, '0');
  const whole = digits.slice(0, -6);
  const decimals = digits.slice(-6).replace(/0+$/, '');
  return `${micro < 0n ? '-' : ''}${whole}${decimals && `.${decimals}`}`;
}

/** The nearest JavaScript number of US dollars, for display only: 12500n → 0.0125. */
export function toUsdNumber(micro: bigint): number {
  return Number(formatUsd(micro));
}

/** An exact quantity `n / d`; `d` is a power of ten, and neither is negative. */
export interface Fraction {
  n: bigint;
  d: bigint;
}

/**
 * The exact value of a number as it is written: 0.1 is one tenth, not the nearest double. Throws
 * RangeError if the number is not finite or is negative.
 */
export function fractionOf(value: number): Fraction {
  if (Number.isSafeInteger(value) && value >= 0) return { n: BigInt(value), d: 1n };
  return parseDecimal(String(value));
}

/**
 * The exact value of a decimal text with any number of decimals: "0.00000025", "2.5e-7". Throws
 * RangeError for anything else, including a sign.
 */
export function parseDecimal(text: string): Fraction {
  const match = /^(\d{1,400})(?:\.(\d{1,400}))?(?:e([+-]?\d{1,3}))?$/i.exec(text);
  if (!match) throw new RangeError(`not a quantity: ${text}`);
  const decimals = match[2] ?? '';
  const scale = decimals.length - Number(match[3] ?? 0);
  const digits = BigInt(match[1]! + decimals);
  if (scale <= 0) return { n: digits * 10n ** BigInt(-scale), d: 1n };
  return { n: digits, d: 10n ** BigInt(scale) };
}

/** The quotient of two amounts that are not negative, rounded up to a whole number. */
export function divideUp(numerator: bigint, denominator: bigint): bigint {
  return denominator === 1n ? numerator : (numerator + denominator - 1n) / denominator;
}

/**
 * Rounds the sum of `numerators / denominator` up once and divides it among the parts. Each part
 * gets what it adds to the rounded-up running total, so the parts are whole, never negative, and
 * add up to the sum.
 */
export function shareOut(numerators: readonly bigint[], denominator: bigint): bigint[] {
  if (denominator === 1n) return [...numerators];
  let exact = 0n;
  let rounded = 0n;
  return numerators.map((n) => {
    exact += n;
    const before = rounded;
    rounded = divideUp(exact, denominator);
    return rounded - before;
  });
}
