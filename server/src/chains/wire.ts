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
