/** Reads values whose type is not known: what was thrown, and what came from outside. */

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** A JSON object: neither list nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object itself, or an empty one in place of anything else. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** The list itself, or an empty one in place of anything else. */
export function itemsOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function isOneOf<Member>(list: readonly Member[], value: unknown): value is Member {
  return list.some((member) => member === value);
}

/**
 * JSON that the service or this program has written, and that therefore has its writer's type.
 * Throws a SyntaxError for what is no JSON.
 */
export function fromJson<T>(text: string): T {
  // The writer's schema or type made it; a check here would repeat that one.
  return JSON.parse(text) as T;
}

/** The message of what was thrown. */
export function messageOf(error: unknown): string {
  return String(fieldOf(error, 'message') ?? error);
}

/** The errno of an error, or an empty string. */
export function codeOf(error: unknown): string {
  const code = fieldOf(error, 'code');
  // A DOMException has a number.
  return typeof code === 'string' ? code : '';
}
