import type { AnyRoute } from '@tanstack/react-router';

/** The pages of who runs the service. */
export function operatorPages(_parent: AnyRoute) {
  return [];
}
