import { formatUsd as exactUsd } from '../../client/src/money.ts';

/** Amounts are texts of micro-USD, as the service gives them; nothing is ever rounded. */

/** `1234500000` → `1,234.50`; at least two decimals, and as many as there are. */
export function formatUsd(amount: string | bigint): string {
  const text = exactUsd(BigInt(amount)).replace('-', '−').replace('$', '');
  return text.replace(/\B(?=(\d{3})+\.)/g, ',');
}

/** What somebody typed, as micro-USD; null where it is no amount or has more than six decimals. */
export function parseUsd(text: string): bigint | null {
  const [, sign, whole, decimals = ''] =
    /^\s*([-−]?)(\d{1,9})(?:[.,](\d{1,6}))?\s*$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const size = BigInt(whole) * 1_000_000n + BigInt(decimals.padEnd(6, '0'));
  return sign ? -size : size;
}

/** An amount as `parseUsd` reads it, but for more digits than it takes. */
export function isTooLarge(text: string): boolean {
  return (
    parseUsd(text.replace(/^(?<sign>\s*[-−]?)\d{10,}/, '$<sign>1')) !== null &&
    parseUsd(text) === null
  );
}
