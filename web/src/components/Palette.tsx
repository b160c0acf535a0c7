import { useHotkeys } from '@mantine/hooks';
import { lazy, Suspense, useState } from 'react';
import type { Me } from '../session.tsx';

/** The palette's own code is loaded when it is first asked for. */
const Loaded = lazy(() => import('./PaletteDialog.tsx'));

export function Palette(props: { me: Me; opened: boolean; toggle: () => void }) {
  const { me, opened, toggle } = props;
  const [asked, setAsked] = useState(opened);
  if (opened && !asked) setAsked(true);
  // Also while somebody types: it is no key of any field.
  useHotkeys([['mod+K', toggle]], []);
  if (!asked) return null;
  return (
    <Suspense>
      <Loaded me={me} opened={opened} onClose={toggle} />
    </Suspense>
  );
}
