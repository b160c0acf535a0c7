/** Reads values whose type is not known: what was thrown, and what came from outside. */

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** The message of what was thrown. */
export function messageOf(error: unknown): string {
  return String(fieldOf(error, 'message') ?? error);
}

/** The thrown value as an error. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown));
}

/** SQLSTATE or errno of an error, or an empty string. */
export function codeOf(error: unknown): string {
  const code = fieldOf(error, 'code');
  // A DOMException has a number.
  return typeof code === 'string' ? code : '';
}
