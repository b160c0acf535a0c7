export type Item = string | bigint | number | boolean | Buffer | null;

/** Needs no quotes between the braces. */
const plain = /^[\w.:+/-]+$/;

/**
 * A list as PostgreSQL reads it: `{a,"b c",NULL}`. The driver can do it too, but takes three times
 * as long, and a batch consists of lists.
 */
export function arrayLiteral(items: readonly Item[]): string {
  return `{${items.map(literal).join(',')}}`;
}

function literal(item: Item): string {
  if (item === null) return 'NULL';
  if (typeof item === 'string') return isPlain(item) ? item : quote(item);
  return Buffer.isBuffer(item) ? `"\\\\x${item.toString('hex')}"` : String(item);
}

function isPlain(text: string): boolean {
  // Unquoted it would mean null.
  return plain.test(text) && !(text.length === 4 && text.toUpperCase() === 'NULL');
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Cannot occur in a JSON text, where control characters are escaped. */
const separator = '\u001e';

/**
 * Joins JSON texts for `string_to_array(…, chr(30), '')`, which needs no search for characters to
 * quote. A null becomes an empty text.
 */
export function jsonTexts(texts: readonly Item[]): string {
  return texts.join(separator);
}
