/**
 * True for base64 (RFC 4648, padded or not) of at least one byte. Checks without decoding, because
 * the text may be megabytes long.
 */
export function isBase64(text: string): boolean {
  const end = text.search(/[^A-Za-z0-9+/]/);
  if (end === -1) return text !== '' && text.length % 4 !== 1;
  // At least four characters, because a group cannot be padding only.
  return text.length % 4 === 0 && end >= text.length - 2 && /^==?$/.test(text.slice(end));
}
