import { isCount, isObject } from '../../../lib/json.ts';

/** Reads values of upstreams by their evident meaning, whatever their types. */

/** A text, a number as a text, or the joined texts of a list of parts. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.map(textOf).join('');
  return isObject(value) ? textOf(value.text ?? value.value) : '';
}

/** The same; JSON in place of a text is its text. */
export function wordsOf(value: unknown): string {
  return textOf(value) || (isObject(value) && !('text' in value) ? jsonTextOf(value) : '');
}

/** A list, or the only item of one. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : isObject(value) ? [value] : [];
}

/** A text with JSON, or the JSON of another value. Empty objects and lists are an empty text. */
export function jsonTextOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const isEmpty = typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  return isEmpty || value === undefined ? '' : JSON.stringify(value);
}

/** The text that a custom tool gets; another value as its JSON. */
export function inputTextOf(value: unknown): string {
  return textOf(value) || jsonTextOf(value);
}

/** A whole number, perhaps as a text; null for any other value. */
export function countIn(value: unknown): number | null {
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return isCount(count) ? count : null;
}

/** The rest of a text of which `said` is the beginning; empty if it begins differently. */
export function restOf(said: string, whole: string): string {
  return whole.startsWith(said) ? whole.slice(said.length) : '';
}
