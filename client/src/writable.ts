/** Makes `JSON.stringify` write amounts as strings, as on the wire: it cannot serialise bigint. */
export function writable<T extends object>(fields: T): T {
  return Object.defineProperty(fields, 'toJSON', { value: toJson });
}

function toJson(this: object): unknown {
  return Object.fromEntries(
    Object.entries(this).map(([name, each]) => [name, asWritten(name, each)]),
  );
}

/** A field as `JSON.stringify` writes it: amounts are strings. */
export function asWritten(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
