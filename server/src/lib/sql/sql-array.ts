export type Item = string | bigint | number | boolean | Buffer | Date | null;

/** Items of this form need no quotes between the braces. */
const plain = /^[\w.:+/-]+$/;

/**
 * A list in PostgreSQL's form: `{a,"b c",NULL}`. The driver's own function takes three times as
 * long, and batches consist of lists.
 */
export function arrayLiteral(items: readonly Item[]): string {
  return `{${items.map(literal).join(',')}}`;
}

function literal(item: Item): string {
  if (item === null) return 'NULL';
  if (typeof item === 'string') return isPlain(item) ? item : quote(item);
  if (Buffer.isBuffer(item)) return `"\\\\x${item.toString('hex')}"`;
  return item instanceof Date ? item.toISOString() : String(item);
}

function isPlain(text: string): boolean {
  // Without quotes, NULL would mean null.
  return plain.test(text) && !(text.length === 4 && text.toUpperCase() === 'NULL');
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Cannot occur in a JSON text, where control characters are escaped. */
const separator = '\u001e';

/**
 * Joins JSON texts for `string_to_array(…, chr(30), '')`, so no characters have to be quoted. A
 * null becomes an empty text.
 */
export function jsonTexts(texts: readonly Item[]): string {
  return texts.join(separator);
}
