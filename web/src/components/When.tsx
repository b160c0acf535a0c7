import { useTranslation } from 'react-i18next';

/** A moment in local time; hovering shows it in UTC. */
export function When({ at, brief = false }: { at: string; brief?: boolean }) {
  const { i18n } = useTranslation();
  const locale = navigator.languages.find((each) => each.startsWith(i18n.language));
  const moment = new Date(at);
  const shown = new Intl.DateTimeFormat(locale ?? i18n.language, {
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
