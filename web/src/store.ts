import { useSyncExternalStore } from 'react';

/** A value outside the pages; components that use it render again when it changes. */
export interface Store<T> {
  get: () => T;
  set: (next: T) => void;
  use: () => T;
}

export function createStore<T>(initial: T): Store<T> {
  let now = initial;
  const listeners = new Set<() => void>();
  const get = () => now;
  const listen = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return {
    get,
    set(next) {
      if (next === now) return;
      now = next;
      for (const listener of listeners) listener();
    },
    use: () => useSyncExternalStore(listen, get),
  };
}
