/** Reads values of unknown type: thrown errors, and data from outside. */

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** A JSON object: neither list nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** The value if it is a list, otherwise an empty list. */
export function itemsOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Parses JSON that the service or this program wrote, so that its type is known. Throws a
 * SyntaxError if it is not JSON.
 */
export function fromJson<T>(text: string): T {
  // The writer's schema or type already guarantees the shape; a check here would repeat that.
  return JSON.parse(text) as T;
}

/** The message of a thrown value. */
export function messageOf(error: unknown): string {
  return String(fieldOf(error, 'message') ?? error);
}

/** The code of an error, such as `ENOENT`; an empty string if it has none. */
export function codeOf(error: unknown): string {
  const code = fieldOf(error, 'code');
  // The code of a DOMException is a number.
  return typeof code === 'string' ? code : '';
}
