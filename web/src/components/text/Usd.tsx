import type { CSSProperties } from 'react';
import { formatUsd } from '../../money.ts';

/**
 * An amount, to its last micro-USD, in figures of equal width. In a `column` of a table points stand
 * under points: decimals that it does not have, and another has, take their place unseen.
 */
export function Usd(props: { micro: string | bigint; signed?: boolean; column?: boolean }) {
  const { micro, signed = false, column = false } = props;
  const plus = signed && BigInt(micro) > 0n ? '+' : '';
  const text = formatUsd(micro);
  const decimals = text.length - text.indexOf('.') - 1;
  const shown = `${plus}$${text}`.replace('$−', '−$');
  return (
    <span
      className="number"
      data-decimals={column ? decimals : undefined}
      style={{ '--characters': shown.length } as CSSProperties}
    >
      {shown}
    </span>
  );
}
