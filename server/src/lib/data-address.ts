import { asBase64 } from './base64.ts';

/** The type, and parameters, whose quoted values may contain commas. */
const head = /^\s*data:([^;,"]*)((?:;(?:"[^"]*"|[^;,"])*)*),/i;
const headMaxChars = 2_000;

export interface DataAddress {
  /** In lower case, without parameters. */
  content_type: string;
  /** Padded, without white space. */
  base64: string;
}

/**
 * Reads a `data:` address. Null for any other text, and if its data are empty or invalid. Besides
 * RFC 2397 it takes what browsers take and programs write: base64 with white space, without
 * padding, percent-encoded or for URLs, and `;base64` before other parameters.
 */
export function dataIn(address: string): DataAddress | null {
  const [start, type = '', parameters = ''] = head.exec(address.slice(0, headMaxChars)) ?? [];
  if (start === undefined) return null;
  const isBase64 = parameters.split(';').some((each) => each.trim().toLowerCase() === 'base64');
  const rest = address.slice(start.length);
  const base64 = isBase64
    ? asBase64(rest.includes('%') ? percentDecoded(rest).toString('latin1') : rest)
    : percentDecoded(rest).toString('base64');
  return base64 ? { content_type: typeOf(type), base64 } : null;
}

/** The address in the one form that every reader takes; any other text stays as it is. */
export function plainData(text: string): string {
  if (!/^\s*data:/i.test(text)) return text;
  const data = dataIn(text);
  return data === null ? text : `data:${data.content_type};base64,${data.base64}`;
}

function typeOf(text: string): string {
  const type = text.trim().toLowerCase();
  return /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/.test(type) ? type : 'application/octet-stream';
}

/** Reads digits from a table, because a text may have millions of codes. */
function percentDecoded(text: string): Buffer {
  const bytes = Buffer.from(text);
  let end = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    const code = byte === percent ? codeAt(bytes, at + 1) : -1;
    bytes[end++] = code < 0 ? byte : code;
    if (code >= 0) at += 2;
  }
  return bytes.subarray(0, end);
}

const percent = 0x25;

/** The value of each byte as a hexadecimal digit; -1 if it is none. */
const digits = Int8Array.from({ length: 256 }, (_, byte) => {
  const digit = String.fromCharCode(byte);
  return /[0-9a-f]/i.test(digit) ? Number.parseInt(digit, 16) : -1;
});

/** The byte that two hexadecimal digits stand for; negative if these are none. */
function codeAt(bytes: Buffer, at: number): number {
  if (at + 1 >= bytes.length) return -1;
  return (digits[bytes[at]!]! << 4) | digits[bytes[at + 1]!]!;
}
