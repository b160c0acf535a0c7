/** Longest texts of a booking. */
export const referenceMax = 255;
export const reasonMax = 1000;
export const noteMax = 1000;
/** Longest reason of an action on an upstream or a model. */
export const logReasonMax = 500;

/** The form that references share which look the same: other spaces, accents apart, variants. */
export function plainReference(given: string): string {
  return given
    .normalize('NFC')
    .replaceAll(/\p{Zs}+/gu, ' ')
    .replaceAll(/[\uFE00-\uFE0F]/g, '');
}
