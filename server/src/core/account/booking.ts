/** Longest texts of a booking. */
export const referenceMax = 255;
export const reasonMax = 1000;
export const noteMax = 1000;
/** Longest reason of an action on an upstream or a model. */
export const logReasonMax = 500;
