/** Amounts are texts of micro-USD, as the service gives them; nothing is ever rounded. */

const micro = 1_000_000n;

/** `1234500000` → `1,234.50`; at least two decimals, and as many as there are. */
export function formatUsd(amount: string | bigint): string {
  const value = BigInt(amount);
  const size = value < 0n ? -value : value;
  const whole = (size / micro).toString().replace(/\B(?=(\d{3})+$)/g, ',');
  const decimals = (size % micro)
    .toString()
    .padStart(6, '0')
    .replace(/0{1,4}$/, '');
  return `${value < 0n ? '−' : ''}${whole}.${decimals}`;
}

/** What somebody typed, as micro-USD; null where it is no amount or has more than six decimals. */
export function parseUsd(text: string): bigint | null {
  const [, sign, whole, decimals = ''] =
    /^\s*([-−]?)(\d{1,9})(?:[.,](\d{1,6}))?\s*$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const size = BigInt(whole) * micro + BigInt(decimals.padEnd(6, '0'));
  return sign ? -size : size;
}

/** An amount as `parseUsd` reads it, but for more digits than it takes. */
export function isTooLarge(text: string): boolean {
  return (
    parseUsd(text.replace(/^(?<sign>\s*[-−]?)\d{10,}/, '$<sign>1')) !== null &&
    parseUsd(text) === null
  );
}
