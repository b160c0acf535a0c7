import { useHotkeys } from '@mantine/hooks';
import { lazy, Suspense, useSyncExternalStore } from 'react';
import type { Section } from './sections.tsx';

/** The palette's own code is loaded when it is first asked for. */
const Loaded = lazy(() => import('./PaletteList.tsx'));

let asked = false;
const listeners = new Set<() => void>();
let show: (() => void) | null = null;

export function openPalette(): void {
  asked = true;
  for (const listener of listeners) listener();
  show?.();
}

/** How the loaded palette is shown. */
export function onShow(work: () => void): void {
  show = work;
}

export function Palette({ sections }: { sections: Section[] }) {
  useHotkeys([['mod+K', openPalette]], []);
  const isAsked = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => asked,
  );
  if (!isAsked) return null;
  return (
    <Suspense>
      <Loaded sections={sections} />
    </Suspense>
  );
}
