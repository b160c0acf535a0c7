import { hash } from 'node:crypto';

/**
 * Voucher codes: `FB-` and five groups of four characters of Crockford's base32, which has no I, L,
 * O or U. Eighteen characters are random (90 bits). The last two are a checksum over GF(32), which
 * detects any one or two wrong characters and any two swapped ones before the database is asked.
 */

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const randomLength = 18;
const length = randomLength + 2;
const prefix = 'FB';
/** Longest typed text: far more than a code with all its dashes and spaces. */
const typedMax = 100;

/** Powers of the generator 2 modulo x^5 + x^2 + 1, and their exponents. */
const powers: number[] = [];
const exponents: number[] = [];
for (let exponent = 0, value = 1; exponent < 31; exponent++) {
  powers[exponent] = value;
  exponents[value] = exponent;
  value <<= 1;
  if (value >= 32) value ^= 0b100101;
}

/** Maximum number of vouchers in one call. Each code is shown on a line of its own. */
export const vouchersMax = 1000;
export const voucherNoteMax = 200;

/** A new code. `random` must be a cryptographic source, such as `randomBytes`. */
export function newVoucherCode(random: (bytes: number) => Buffer): string {
  const digits = Array.from(random(randomLength), (byte) => byte & 31);
  const [plain, weighted] = sums(digits);
  // p + q and 2^18 p + 2^19 q must cancel the two sums.
  const p = divide(weighted ^ times(plain, 19), powers[18]! ^ powers[19]!);
  const text = [...digits, p, p ^ plain].map((digit) => alphabet[digit]).join('');
  return [prefix, ...text.match(/.{4}/g)!].join('-');
}

/**
 * The code in its stored form if its form and checksum are right, otherwise null. Case, dashes and
 * spaces are ignored, and characters that look like 0 or 1 are read as 0 or 1.
 */
export function parseVoucherCode(typed: unknown): string | null {
  if (typeof typed !== 'string' || typed.length > typedMax) return null;
  const text = typed.toUpperCase().replace(/[\s\p{Pd}]/gu, '');
  const hasForm = text.length === prefix.length + length && text.startsWith(prefix);
  const digits = Array.from(hasForm ? text.slice(prefix.length) : text, digitOf);
  if (digits.length !== length || digits.includes(-1)) return null;
  const [plain, weighted] = sums(digits);
  if (plain !== 0 || weighted !== 0) return null;
  const groups = digits
    .map((digit) => alphabet[digit])
    .join('')
    .match(/.{4}/g)!;
  return [prefix, ...groups].join('-');
}

/** The stored form of a code, by which it is looked up. 90 random bits need no slow hash. */
export function hashVoucherCode(code: string): Buffer {
  return hash('sha256', code, 'buffer');
}

/** The last four characters, from a text like `FB-…WXYZ`; null for any other text. */
export function voucherHintIn(text: string): string | null {
  return /^(?:FB-?)?(?:…|\.{2,3})-?([0-9A-Z]{4})$/.exec(text.toUpperCase())?.[1] ?? null;
}

/** The reference of a voucher's deposit. */
export function voucherReference(id: string): string {
  return `voucher:${id}`;
}

function digitOf(character: string): number {
  const meant = character === 'O' ? '0' : /[IL]/.test(character) ? '1' : character;
  return alphabet.indexOf(meant);
}

function sums(digits: readonly number[]): [plain: number, weighted: number] {
  return [
    digits.reduce((sum, digit) => sum ^ digit, 0),
    digits.reduce((sum, digit, place) => sum ^ times(digit, place), 0),
  ];
}

/** `value` times 2 to the power of `exponent`. */
function times(value: number, exponent: number): number {
  return value === 0 ? 0 : powers[(exponents[value]! + exponent) % 31]!;
}

function divide(value: number, by: number): number {
  return value === 0 ? 0 : powers[(exponents[value]! - exponents[by]! + 31) % 31]!;
}
