/** The form in which endpoints of blockchains write values, and the values in it. */

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

/** An endpoint's answer does not fit the question. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer';
}

/** The last 20 bytes of a topic. */
export function addressIn(topic: unknown): string {
  return `0x${word(topic, 'an address').slice(-40)}`;
}

export function word(value: unknown, what: string): string {
  return hex(value, 64, what);
}

export function hex(value: unknown, digits: number, what: string): string {
  const [, found] = typeof value === 'string' ? (/^(?:0x)?([0-9a-f]+)$/i.exec(value) ?? []) : [];
  if (found?.length !== digits) throw new BadAnswer(`${what} is missing or malformed`);
  return `0x${found.toLowerCase()}`;
}

export function quantity(value: unknown, what: string): bigint {
  const found = numberIn(value);
  if (found === null) throw new BadAnswer(`${what} is missing or malformed`);
  return found;
}

/**
 * Usually hex digits after `0x`. Some nodes send a number, or its decimal digits as a text; null if
 * it is none of them, or may have been rounded.
 */
export function numberIn(value: unknown): bigint | null {
  const isNumber =
    typeof value === 'string'
      ? /^(?:0x[0-9a-f]{1,64}|0|[1-9]\d{0,77})$/i.test(value)
      : Number.isSafeInteger(value) && Number(value) >= 0;
  return isNumber ? BigInt(value as string | number) : null;
}

export function heightIn(value: unknown): bigint {
  const height = quantity(value, 'a height');
  if (height > Number.MAX_SAFE_INTEGER) throw new BadAnswer(`no chain has a block ${height}`);
  return height;
}

/** Before the first block of any chain that people pay on. */
const earliest = new Date('2015-01-01T00:00:00Z');
/** The clock of this machine may be wrong by less than this. */
const clockErrorMs = 86_400_000;

/** The time of a block: seconds since 1970, in hex. */
export function timeIn(timestamp: unknown): Date {
  const at = new Date(Number(quantity(timestamp, "the block's time")) * 1000);
  if (Number.isNaN(at.getTime())) throw new BadAnswer("the block's time is not a date");
  const latest = new Date(Date.now() + clockErrorMs);
  // guard: block-time-is-judged
  if (at < earliest || at > latest)
    throw new BadAnswer(`the block's time is ${oddTime(at, latest)}`);
  return at;
}

function oddTime(at: Date, latest: Date): string {
  const year = at.getUTCFullYear();
  return year === latest.getUTCFullYear()
    ? `in the future: ${at.toISOString()}`
    : `in the year ${year}`;
}
