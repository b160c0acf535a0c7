export type Item = string | bigint | number | boolean | Buffer | null;

/** Needs no quotes between the braces. */
const plain = /^[\w.:+/-]+$/;

/**
 * A list as PostgreSQL reads it: `{a,"b c",NULL}`. The driver would do it too, in three times as
 * long, and a batch is lists and nothing else.
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
  // The bare word would be the null.
  return plain.test(text) && !(text.length === 4 && text.toUpperCase() === 'NULL');
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Stands in no JSON text: a control character is written as an escape there. */
const separator = '\u001e';

/**
 * JSON texts as one, for `string_to_array(…, chr(30), '')`: without a search for what needs quotes.
 * A null becomes an empty text.
 */
export function jsonTexts(texts: readonly Item[]): string {
  return texts.join(separator);
}
