/** A day in milliseconds. */
export const dayMs = 24 * 3600 * 1000;

/**
 * Whether a text such as `2026-02-28` is an existing day. `Date` would read 30 February as 2 March.
 */
export function isCalendarDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return Number.isFinite(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
