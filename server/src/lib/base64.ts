/**
 * True for what is base64 (RFC 4648, with or without its padding) of at least one byte. Nothing is
 * decoded: a text may be megabytes long.
 */
export function isBase64(text: string): boolean {
  const end = text.search(/[^A-Za-z0-9+/]/);
  if (end === -1) return text !== '' && text.length % 4 !== 1;
  // Four digits at least, since the padding cannot be a whole group.
  return text.length % 4 === 0 && end >= text.length - 2 && /^==?$/.test(text.slice(end));
}
