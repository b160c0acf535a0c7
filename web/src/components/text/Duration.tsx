import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';

/** The time between two moments; without an end, until now, and it keeps counting. */
export function Duration({ from, to }: { from: string; to: string | null }) {
  const { i18n } = useTranslation();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (to !== null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [to]);
  const ms = Math.max(0, (to === null ? now : Date.parse(to)) - Date.parse(from));
  return <span className="number">{formatDuration(ms, i18n.language, to === null)}</span>;
}

/** A duration in milliseconds. */
export function Took({ ms }: { ms: number }) {
  const { i18n } = useTranslation();
  return <span className="number">{formatDuration(ms, i18n.language)}</span>;
}

/** `1.4 s`, `2 min 5 s`, `3 h 10 min`; whole seconds for one that still counts. */
export function formatDuration(ms: number, language: string, whole = false): string {
  const of = (value: number, unit: string, digits = 0) =>
    new Intl.NumberFormat(language, {
      style: 'unit',
      unit,
      unitDisplay: 'short',
      maximumFractionDigits: digits,
    }).format(value);
  if (ms < 1000 && !whole) return of(Math.round(ms), 'millisecond');
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return of(whole ? seconds : ms / 1000, 'second', whole ? 0 : 1);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${of(minutes, 'minute')} ${of(seconds % 60, 'second')}`;
  return `${of(Math.floor(minutes / 60), 'hour')} ${of(minutes % 60, 'minute')}`;
}
