import { useMediaQuery } from '@mantine/hooks';

/** Whether the screen is narrower than a tablet's, or than the given width. */
export function useIsNarrow(width = '48em'): boolean {
  return useMediaQuery(`(max-width: ${width})`, false, { getInitialValueInEffect: false });
}
