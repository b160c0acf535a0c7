import { useLocale } from './locale.ts';

/** The first or last moment of a UTC day: where months begin and given days end. */
const edgeOfDay = /T(?:00:00:00(?:\.0+)?|23:59:59\.9+)Z$/;

/**
 * A moment in local time; hovering shows UTC. Where only the date is shown, a moment at the edge of
 * a UTC day keeps its UTC date.
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
