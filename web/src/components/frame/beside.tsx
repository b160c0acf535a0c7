import type { ComponentType } from 'react';
import { createStore } from '../../store.ts';

/** Components that are mounted next to the pages, and loaded, when first needed. */
const mounted = createStore<readonly ComponentType[]>([]);

export function mountBeside(part: ComponentType): void {
  mounted.set([...mounted.get(), part]);
}

export function Beside() {
  return mounted.use().map((Part, i) => <Part key={i} />);
}
