import { formatUsd } from '../money.ts';

/** An amount, to its last micro-USD, in figures of equal width. */
export function Usd({ micro, signed = false }: { micro: string | bigint; signed?: boolean }) {
  const plus = signed && BigInt(micro) > 0n ? '+' : '';
  return <span className="number">{`${plus}$${formatUsd(micro)}`.replace('$−', '−$')}</span>;
}
