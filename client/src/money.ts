import { badArgument } from './error.ts';
import { writable } from './writable.ts';
import { isObject } from './unknown.ts';

/** Fields with content of the catalog or the caller: amounts inside them stay as they are. */
const foreign = new Set(['input', 'input_schema', 'example', 'assumptions', 'metadata']);

/** Makes each `*_usd_micro` inside the value a bigint, in place, and returns the value. */
export function withAmounts<T>(value: unknown): T {
  if (Array.isArray(value)) for (const item of value) withAmounts(item);
  else if (isObject(value)) {
    const fields = writable(value);
    for (const [name, field] of Object.entries(fields)) {
      if (foreign.has(name)) continue;
      fields[name] = name.endsWith('_usd_micro') ? amount(field) : withAmounts(field);
    }
  }
  // `T` is the wire's type with its amounts as bigint.
  return value as T;
}

function amount(value: unknown): unknown {
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value);
  if (typeof value !== 'object' || value === null) return value;
  return writable(
    Object.fromEntries(Object.entries(value).map(([key, each]) => [key, amount(each)])),
  );
}

/** The amount as `$0.05` or `$0.000125`: exact, with at least two decimals. */
export function formatUsd(micro: bigint): string {
  const digits = (micro < 0n ? -micro : micro).toString().padStart(7, '0');
  const cents = digits.slice(-6).replace(/0{1,4}$/, '');
  return `${micro < 0n ? '-' : ''}$${digits.slice(0, -6)}.${cents}`;
}

/**
 * Micro-dollars of `0.05`, `$0.05` or `$1,000`. Throws if the text is not an amount or has more
 * than six decimals.
 */
export function parseUsd(text: string): bigint {
  const match = /^(-?)\$?(\d+|\d{1,3}(?:,\d{3})+)(?:\.(\d{1,6}))?$/.exec(text.trim());
  if (!match) {
    throw badArgument(
      `"${text}" is not an amount: write dollars with up to six decimals, such as 0.05.`,
    );
  }
  const [, sign, whole = '', part = ''] = match;
  const micro = BigInt(whole.replaceAll(',', '') + part.padEnd(6, '0'));
  return sign === '-' ? -micro : micro;
}
