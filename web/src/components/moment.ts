import { dayMs } from './date/days.ts';

/**
 * A moment as people say it: `14:05` today, `yesterday 14:05`, else the day, `12 Nov`, with its year
 * if that is another.
 */
export function momentText(at: Date, now: Date, locale: string): string {
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'short' }).format(at);
  const days = dayNumber(now) - dayNumber(at);
  if (days === 0) return time;
  if (days === 1) {
    const yesterday = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(-1, 'day');
    return `${yesterday} ${time}`;
  }
  const isThisYear = at.getFullYear() === now.getFullYear();
  const day = { day: 'numeric', month: 'short' } as const;
  const options = isThisYear ? day : ({ ...day, year: 'numeric' } as const);
  return new Intl.DateTimeFormat(locale, options).format(at);
}

/** The number of a local day; days with a change of the clock count as one, too. */
function dayNumber(at: Date): number {
  return Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / dayMs;
}
