/** A day in milliseconds. */
export const dayMs = 24 * 3600 * 1000;
