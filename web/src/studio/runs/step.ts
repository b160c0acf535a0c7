import type { KeyboardEvent } from 'react';

/** Left and right, unless they move something else, such as a video or the cursor of a field. */
export function stepOf({ key, target, altKey, ctrlKey, metaKey }: KeyboardEvent): -1 | 0 | 1 {
  if (altKey || ctrlKey || metaKey) return 0;
  if (target instanceof Element && target.closest('input, textarea, video, audio, [role=menu]'))
    return 0;
  return key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
}
