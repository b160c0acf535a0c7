/** Objects and lists whose keys or members are a closed set of strings. */

export function keysOf<Key extends string>(record: Partial<Record<Key, unknown>>): Key[] {
  // TypeScript returns string[], because a value may have more fields than its type declares.
  return Object.keys(record) as Key[];
}

export function entriesOf<Key extends string, Value>(
  record: Partial<Record<Key, Value>>,
): [Key, Value][] {
  // For the same reason as in `keysOf`.
  return Object.entries(record) as [Key, Value][];
}

export function isOneOf<Member>(list: readonly Member[], value: unknown): value is Member {
  return list.some((member) => member === value);
}

/** Whether the record itself has this key; "constructor" would be inherited. */
export function hasKey<Key extends string>(
  record: Partial<Record<Key, unknown>>,
  key: unknown,
): key is Key {
  return typeof key === 'string' && Object.hasOwn(record, key);
}
