import { useMediaQuery } from '@mantine/hooks';
import { useCallback, useRef, useState } from 'react';

/** Whether the screen is narrower than a tablet's, or than the given width. */
export function useIsNarrow(width = '48em'): boolean {
  return useMediaQuery(`(max-width: ${width})`, false, { getInitialValueInEffect: false });
}

/**
 * Whether the element that gets `ref` is narrower than this, in pixels, or than its child has turned
 * out to need.
 */
export function useIsNarrowBox(width: number) {
  const [isNarrow, setNarrow] = useState(false);
  const needed = useRef(width);
  const ref = useCallback(
    (box: HTMLElement | null) => {
      if (!box) return;
      const measure = () => {
        const child = box.firstElementChild;
        if (child && child.scrollWidth > child.clientWidth + 1)
          needed.current = Math.max(needed.current, child.scrollWidth);
        setNarrow(box.clientWidth < Math.max(width, needed.current));
      };
      measure();
      const observer = new ResizeObserver(measure);
      observer.observe(box);
      return () => observer.disconnect();
    },
    [width],
  );
  return { ref, isNarrow };
}
