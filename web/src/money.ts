import { formatUsd as exactUsd } from '../../client/src/money.ts';

/** Amounts are micro-USD as text, as the service sends them; nothing is rounded. */

/** `1234500000` → `1,234.50`; at least two decimals, more only if needed. */
export function formatUsd(amount: string | bigint): string {
  const text = exactUsd(BigInt(amount)).replace('-', '−').replace('$', '');
  return text.replace(/\B(?=(\d{3})+\.)/g, ',');
}

/** A typed amount as micro-USD; null if it is not an amount or has more than six decimals. */
export function parseUsd(text: string): bigint | null {
  const [, sign, whole, decimals = ''] =
    /^\s*([-−]?)(\d{1,9})(?:[.,](\d{1,6}))?\s*$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const size = BigInt(whole) * 1_000_000n + BigInt(decimals.padEnd(6, '0'));
  return sign ? -size : size;
}

/** Whether a typed amount is valid but has too many digits. */
export function isTooLarge(text: string): boolean {
  return (
    parseUsd(text.replace(/^(?<sign>\s*[-−]?)\d{10,}/, '$<sign>1')) !== null &&
    parseUsd(text) === null
  );
}
