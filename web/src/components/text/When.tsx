import { useLocale } from './locale.ts';

/** The first or the last moment of a day in UTC: there months begin anew, and days given end. */
const edgeOfDay = /T(?:00:00:00(?:\.0+)?|23:59:59\.9+)Z$/;

/**
 * A moment in local time; hovering shows it in UTC. Where only the day is told, one at the edge of
 * a day in UTC belongs to that day everywhere.
 */
export function When({ at, brief = false }: { at: string; brief?: boolean }) {
  const locale = useLocale();
  const moment = new Date(at);
  const shown = new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    ...(!brief && { timeStyle: 'medium' }),
    ...(brief && edgeOfDay.test(at) && { timeZone: 'UTC' }),
  }).format(moment);
  return (
    <time
      dateTime={at}
      title={`${moment.toISOString().replace('T', ' ').replace('Z', '')} UTC`}
      className="number"
    >
      {shown}
    </time>
  );
}
