import type { AnyRoute } from '@tanstack/react-router';

/** The playground. */
export function studioPages(_parent: AnyRoute) {
  return [];
}
