/** The form in which endpoints of blockchains write values. */

/** The topic of the event `Transfer(address,address,uint256)`. */
export const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

export function hexOf(value: bigint): string {
  return `0x${value.toString(16)}`;
}

/** An address as a topic: 32 bytes. */
export function topicOf(address: string): string {
  return `0x${address.slice(2).padStart(64, '0')}`;
}

/** The call of the function `decimals()`. */
export const decimalsCall = '0x313ce567';

export function wordOf(value: bigint): string {
  return `0x${value.toString(16).padStart(64, '0')}`;
}

/** The call of the function `symbol()`. */
export const symbolCall = '0x95d89b41';

/** The text that `symbol()` returns, as a string or as 32 bytes; null if it is neither. */
export function textOf(answer: unknown): string | null {
  if (typeof answer !== 'string' || !/^0x([0-9a-f]{64})+$/i.test(answer)) return null;
  const bytes = Buffer.from(answer.slice(2), 'hex');
  const length = bytes.length >= 64 ? Number(bytes.readBigUInt64BE(56)) : 0;
  const text = bytes.length > 32 ? bytes.subarray(64, 64 + Math.min(length, 64)) : bytes;
  return [...text.toString('utf8')].filter((char) => char >= ' ' && char !== '\u007f').join('');
}
