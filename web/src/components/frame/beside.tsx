import { useSyncExternalStore, type ComponentType } from 'react';

/** Components that are mounted next to the pages, and loaded, when first needed. */
const parts: ComponentType[] = [];
const listeners = new Set<() => void>();
let shown: readonly ComponentType[] = [];

export function mountBeside(part: ComponentType): void {
  parts.push(part);
  shown = [...parts];
  for (const listener of listeners) listener();
}

export function Beside() {
  const mounted = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => shown,
  );
  return mounted.map((Part, i) => <Part key={i} />);
}
