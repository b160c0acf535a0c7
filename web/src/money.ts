import { formatUsd as exactUsd } from '../../client/src/money.ts';

/** Amounts are micro-USD as text, as the service sends them. */

/**
 * An amount as people read it: two decimals from a dollar on, below it three significant digits, at
 * least two decimals. `$409.55`, `$0.06`, `$0.00215`. Balances are rounded down, prices up.
 */
export function briefUsd(amount: string | bigint, round: 'down' | 'up' = 'down'): string {
  const exact = BigInt(amount);
  const size = exact < 0n ? -exact : exact;
  // The last digit that is shown; below a dollar the third one, and cents at most.
  const step = 10n ** BigInt(Math.max(0, Math.min(4, String(size).length - 3)));
  const whole = (round === 'up' ? size + step - 1n : size) / step;
  const text = formatUsd(whole * step);
  return `${exact < 0n ? '−' : ''}$${text}`;
}

/** The whole amount, for lines that add up: `$25.00`, `−$0.000022`. */
export function wholeUsd(amount: string | bigint): string {
  return `$${formatUsd(amount)}`.replace('$−', '−$');
}

/** All six decimals, for the ledger: `$1,234.500000`. */
export function fullUsd(amount: string | bigint): string {
  const [whole, decimals = ''] = wholeUsd(amount).split('.');
  return `${whole}.${decimals.padEnd(6, '0')}`;
}

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
