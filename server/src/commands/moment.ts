import { isCalendarDay } from '../lib/calendar-day.ts';

const dayForm = /^\d{4}-\d{2}-\d{2}$/;
const momentForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** A time in ISO 8601 with its zone, or the end (UTC) of a day; null for other texts. */
export function momentOf(text: string): Date | null {
  const isDay = dayForm.test(text);
  if (!isDay && !momentForm.test(text)) return null;
  if (!isCalendarDay(text.slice(0, 10))) return null;
  const moment = new Date(isDay ? `${text}T23:59:59.999Z` : text);
  return Number.isNaN(moment.getTime()) ? null : moment;
}
