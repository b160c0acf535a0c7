/** The keys and entries of objects that have no others than their type says. */

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
