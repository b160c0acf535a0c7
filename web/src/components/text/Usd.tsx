import type { CSSProperties } from 'react';
import { formatUsd } from '../../money.ts';

/**
 * An amount down to the last micro-USD, in digits of equal width. In a `column`, decimal points
 * line up: missing decimals are filled with hidden zeros.
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
