import { isCalendarDay } from '../lib/calendar-day.ts';
import { CommandFailed } from '../operations/refusal.ts';

const dayForm = /^\d{4}-\d{2}-\d{2}$/;
const momentForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** A time in ISO 8601 with its zone, or the start or end (UTC) of a day; returned in UTC. */
export function readTime(text: string, day: 'start' | 'end'): string {
  const isDay = dayForm.test(text);
  const whole = isDay ? `${text}T${day === 'start' ? '00:00:00' : '23:59:59.999'}Z` : text;
  const moment = new Date(momentForm.test(whole) && isCalendarDay(text.slice(0, 10)) ? whole : NaN);
  if (!Number.isNaN(moment.getTime())) return moment.toISOString();
  throw new CommandFailed(`"${text}" is not a date, such as 2027-01-31 or 2027-01-31T12:00:00Z.`);
}
