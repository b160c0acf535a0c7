import { useHotkeys } from '@mantine/hooks';
import { lazy, Suspense, useState } from 'react';
import type { Me } from '../../api-types.ts';
import type { Section } from '../frame/sections.tsx';

/** The palette's code is loaded when first opened. */
const Loaded = lazy(() => import('./PaletteDialog.tsx'));

export function Palette(props: {
  me: Me;
  sections: Section[];
  opened: boolean;
  toggle: () => void;
  close: () => void;
}) {
  const { me, sections, opened, toggle, close } = props;
  const [asked, setAsked] = useState(opened);
  if (opened && !asked) setAsked(true);
  // Works while an input has focus as well, because no input uses this key.
  useHotkeys([['mod+K', toggle]], []);
  if (!asked) return null;
  return (
    <Suspense>
      <Loaded me={me} sections={sections} opened={opened} onClose={close} />
    </Suspense>
  );
}
