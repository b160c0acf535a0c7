/** Typed keys and entries of objects that have no fields besides those of their type. */

export function keysOf<Key extends string>(record: Partial<Record<Key, unknown>>): Key[] {
  // TypeScript gives `string`, because a value may have more fields than its type.
  return Object.keys(record) as Key[];
}

export function entriesOf<Key extends string, Value>(
  record: Partial<Record<Key, Value>>,
): [Key, Value][] {
  // As with `keysOf`.
  return Object.entries(record) as [Key, Value][];
}
