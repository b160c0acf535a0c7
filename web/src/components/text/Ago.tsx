import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';

const steps: [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** How long ago a moment was, kept up to date; hovering shows the moment in UTC. */
export function Ago({ at }: { at: string }) {
  const { i18n } = useTranslation();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  // A browser clock behind the service's must not yield a future time.
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  const [unit, size] = steps.find(([, length]) => seconds >= length) ?? ['second', Infinity];
  const format = new Intl.RelativeTimeFormat(i18n.language, { numeric: 'auto' });
  return (
    <time dateTime={at} title={`${at.replace('T', ' ').replace('Z', '')} UTC`}>
      {format.format(-Math.floor(seconds / size), unit)}
    </time>
  );
}
