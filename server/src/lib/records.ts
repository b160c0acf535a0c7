/** Objects and lists whose keys or members are a closed set of texts. */

export function keysOf<Key extends string>(record: Partial<Record<Key, unknown>>): Key[] {
  // TypeScript gives texts, since a value may have more fields than its type.
  return Object.keys(record) as Key[];
}

export function entriesOf<Key extends string, Value>(
  record: Partial<Record<Key, Value>>,
): [Key, Value][] {
  // As with `keysOf`.
  return Object.entries(record) as [Key, Value][];
}

export function isOneOf<Member>(list: readonly Member[], value: unknown): value is Member {
  return list.some((member) => member === value);
}

/** Whether the record has this key itself; "constructor" is inherited. */
export function hasKey<Key extends string>(
  record: Partial<Record<Key, unknown>>,
  key: unknown,
): key is Key {
  return typeof key === 'string' && Object.hasOwn(record, key);
}
