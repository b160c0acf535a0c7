/** Days of the user's calendar, written as 2027-01-31. */

/** A day of UTC, which has no change of the clock. */
export const dayMs = 24 * 3600 * 1000;

export function dateOf(day: string): Date {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date);
}

export function dayOfDate(date: Date): string {
  const parts = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0'));
  return [String(date.getFullYear()).padStart(4, '0'), ...parts].join('-');
}

/** So many days or months later. The last day of a month stays within its month. */
export function addToDay(day: string, { days = 0, months = 0 }): string {
  const from = dateOf(day);
  const last = new Date(from.getFullYear(), from.getMonth() + months + 1, 0).getDate();
  const date = months === 0 ? from.getDate() : Math.min(from.getDate(), last);
  return dayOfDate(new Date(from.getFullYear(), from.getMonth() + months, date + days));
}

/** The weeks, from Monday on, that a month's days lie in. */
export function weeksOf(day: string): string[][] {
  const from = dateOf(day);
  const first = dayOfDate(new Date(from.getFullYear(), from.getMonth(), 1));
  const start = addToDay(first, { days: -((dateOf(first).getDay() + 6) % 7) });
  const length = new Date(from.getFullYear(), from.getMonth() + 1, 0).getDate();
  const before = (dateOf(first).getDay() + 6) % 7;
  return Array.from({ length: Math.ceil((before + length) / 7) }, (_, week) =>
    Array.from({ length: 7 }, (_, i) => addToDay(start, { days: week * 7 + i })),
  );
}
