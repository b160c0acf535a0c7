/**
 * True for base64 (RFC 4648, padded or not) of at least one byte. The text is not decoded, because
 * it may be megabytes long.
 */
export function isBase64(text: string): boolean {
  const end = text.search(/[^A-Za-z0-9+/]/);
  if (end === -1) return text !== '' && text.length % 4 !== 1;
  // Padding alone is refused, because the length must be a multiple of four.
  return text.length % 4 === 0 && end >= text.length - 2 && /^==?$/.test(text.slice(end));
}
