import { useLocale } from './locale.ts';

/** A moment in local time; hovering shows it in UTC. */
export function When({ at, brief = false }: { at: string; brief?: boolean }) {
  const locale = useLocale();
  const moment = new Date(at);
  const shown = new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    ...(!brief && { timeStyle: 'medium' }),
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
