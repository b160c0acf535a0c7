/** Longest texts of a booking. */
export const referenceMax = 255;
export const reasonMax = 1000;
export const noteMax = 1000;
