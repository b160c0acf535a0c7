/** Reads values of unknown type: thrown values, and data from outside. */

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** The message of a thrown value. */
export function messageOf(error: unknown): string {
  return String(fieldOf(error, 'message') ?? error);
}

export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown));
}

/** The code of an error: an SQLSTATE or a name such as `ENOENT`. Empty if it has none. */
export function codeOf(error: unknown): string {
  const code = fieldOf(error, 'code');
  // The code of a DOMException is a number.
  return typeof code === 'string' ? code : '';
}
