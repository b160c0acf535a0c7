/** Longest texts of a booking. */
export const referenceMax = 255;
export const reasonMax = 1000;
export const noteMax = 1000;
/** Longest reason of an action on an upstream or a model. */
export const logReasonMax = 500;

/** Without the variants of signs, which look the same in most typefaces. */
export function plainReference(given: string): string {
  return given.replaceAll(/[\uFE00-\uFE0F]/g, '');
}
