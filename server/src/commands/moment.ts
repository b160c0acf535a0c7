import { isCalendarDay } from '../lib/calendar-day.ts';
import { CommandFailed } from '../operations/refused.ts';

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

/** The time in an option; null if it is not given. For a day, its start or end in UTC. */
export function timeIn(
  text: string | undefined,
  day: 'start' | 'end',
  word: 'date' | 'time' = 'date',
): Date | null {
  if (text === undefined) return null;
  const moment = momentOf(day === 'start' && dayForm.test(text) ? `${text}T00:00Z` : text);
  if (moment !== null) return moment;
  throw new CommandFailed(
    `"${text}" is not a ${word}, such as 2027-01-31 or 2027-01-31T12:00:00Z.`,
  );
}
