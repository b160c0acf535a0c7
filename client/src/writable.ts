/** Makes `JSON.stringify` write amounts as strings, as on the wire: it cannot serialise bigint. */
export function writable<T extends object>(fields: T): T {
  return Object.defineProperty(fields, 'toJSON', { value: toJson });
}

function toJson(this: object): unknown {
  return Object.fromEntries(
    Object.entries(this).map(([name, each]) => [
      name,
      typeof each === 'bigint' ? String(each) : each,
    ]),
  );
}
