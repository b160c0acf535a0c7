import type { ComponentType } from 'react';
import { createStore } from '../../store.ts';

/** Components that are loaded and mounted next to the pages when they are first needed. */
const mounted = createStore<readonly ComponentType[]>([]);

export function mountBeside(part: ComponentType): void {
  mounted.set([...mounted.get(), part]);
}

export function Beside() {
  return mounted.use().map((Part, i) => <Part key={i} />);
}
