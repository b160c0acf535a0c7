import { formatUsd } from '../money.ts';

/** All decimals that there can be. */
const decimalsMax = 6;

/**
 * An amount, to its last micro-USD, in figures of equal width. In a `column` of a table the decimals
 * that it does not have take their place, unseen, so that points stand under points.
 */
export function Usd(props: { micro: string | bigint; signed?: boolean; column?: boolean }) {
  const { micro, signed = false, column = false } = props;
  const plus = signed && BigInt(micro) > 0n ? '+' : '';
  const text = formatUsd(micro);
  const unseen = '0'.repeat(decimalsMax - (text.length - text.indexOf('.') - 1));
  return (
    <span className="number" data-unseen={column ? unseen : undefined}>
      {`${plus}$${text}`.replace('$−', '−$')}
    </span>
  );
}
