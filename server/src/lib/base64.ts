/** A multiple of four, so that each block is base64 of its own. */
const blockChars = 64 * 1024;
const block = Buffer.alloc((blockChars / 4) * 3);

/**
 * True for base64 (RFC 4648, padded or not) of at least one byte. The text may be megabytes long,
 * so Node's decoder judges its blocks: it skips other characters, and then yields fewer bytes.
 */
export function isBase64(text: string): boolean {
  const tail = Math.floor(text.length / blockChars) * blockChars;
  // The decoder also takes the alphabet for URLs, and the low bytes of other characters.
  if (
    tail > 0 &&
    (text.includes('-') || text.includes('_') || Buffer.byteLength(text) !== text.length)
  )
    return false;
  for (let at = 0; at < tail; at += blockChars)
    if (block.write(text.slice(at, at + blockChars), 'base64') < block.length)
      return isTail(text, at);
  return isTail(text, tail);
}

/**
 * Base64 as RFC 4648 writes it, padded, from what programs write: also with white space, without
 * padding, and in the alphabet for URLs. Null for any other text, and for one without bytes.
 */
export function asBase64(text: string): string | null {
  const digits = isBase64(text) ? text : text.replaceAll(/[\t\n\f\r ]+/g, '');
  const usual = /[-_]/.test(digits) ? digits.replaceAll('-', '+').replaceAll('_', '/') : digits;
  return isBase64(usual) ? usual.padEnd(Math.ceil(usual.length / 4) * 4, '=') : null;
}

/** Whether the rest of a text is base64, of which all before it is. */
function isTail(text: string, from: number): boolean {
  const rest = text.slice(from);
  const end = rest.search(/[^A-Za-z0-9+/]/);
  if (end === -1) return text !== '' && rest.length % 4 !== 1;
  // Padding alone is refused, because the length must be a multiple of four.
  return rest.length % 4 === 0 && end >= rest.length - 2 && /^==?$/.test(rest.slice(end));
}
