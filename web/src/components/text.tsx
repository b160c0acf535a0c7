import { type CSSProperties, useEffect, useState } from 'react';
import type { Status } from '../api-types.ts';
import { briefUsd, fullUsd, wholeUsd } from '../money.ts';
import { momentText } from './moment.ts';
import { Dot } from './styles.ts';
import { useTranslation } from '../i18n.ts';

/** Amounts, shares, times and states as text. */

/** The user's regional variant of the page language. */
export function useLocale(): string {
  const { language } = useTranslation();
  const fits = (tag: string) => tag.startsWith(language) && isTag(tag);
  return navigator.languages.find(fits) ?? language;
}

/** A browser may report the system's locale, such as `en-US@posix`. */
function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
}

/** Formats moments in the user's way; left out: the date and the time of day. */
export function useMoment(
  options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'short' },
): (at: string | number) => string {
  const format = new Intl.DateTimeFormat(useLocale(), options);
  return (at) => format.format(new Date(at));
}

/**
 * An amount in digits of equal width, rounded as `briefUsd` does, with the exact one as its title;
 * `price` rounds up. Lines that add up show the `whole` amount, those of the ledger six decimals.
 */
export function Usd(props: {
  micro: string | bigint;
  signed?: boolean;
  price?: boolean;
  digits?: 'whole' | 'six';
}) {
  const { micro, signed = false, price = false, digits = 'brief' } = props;
  const plus = signed && BigInt(micro) > 0n ? '+' : '';
  const brief = briefUsd(micro, price ? 'up' : 'down');
  const shown = plus + { brief, whole: wholeUsd(micro), six: fullUsd(micro) }[digits];
  return (
    <span
      className="number"
      title={`${plus}${fullUsd(micro)}`}
      // React's type has no custom properties.
      style={{ '--characters': shown.length } as CSSProperties}
    >
      {shown}
    </span>
  );
}

/** A share given in millionths. */
export function Percent({ ppm }: { ppm: number }) {
  return <span className="number">{usePercent()(ppm)}</span>;
}

/** Formats a share given in millionths, cut after a tenth of a percent. */
export function usePercent(): (ppm: number) => string {
  const format = new Intl.NumberFormat(useLocale(), {
    style: 'percent',
    maximumFractionDigits: 1,
    roundingMode: 'trunc',
  });
  return (ppm) => format.format(Math.round(ppm) / 1_000_000);
}

/**
 * The first or last moment of a UTC day: months begin, and chosen end dates end, at one of these.
 */
const edgeOfDay = /T(?:00:00:00(?:\.0+)?|23:59:59\.9+)Z$/;

const forms = {
  date: { dateStyle: 'medium' },
  time: { timeStyle: 'short' },
  exact: { dateStyle: 'medium', timeStyle: 'medium' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

/**
 * A moment in local time, as `momentText` says it, or in another form; hovering shows the exact
 * moment in UTC. If only the date is shown, a moment at the edge of a UTC day keeps its UTC date.
 */
export function When({ at, as }: { at: string; as?: keyof typeof forms | undefined }) {
  const locale = useLocale();
  const moment = new Date(at);
  const options = as && {
    ...forms[as],
    ...(as === 'date' && edgeOfDay.test(at) && { timeZone: 'UTC' }),
  };
  const shown = options
    ? new Intl.DateTimeFormat(locale, options).format(moment)
    : momentText(moment, new Date(), locale);
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

const steps: [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** How long ago a moment was, kept up to date; hovering shows the moment in UTC. */
export function Ago({ at }: { at: string }) {
  const { language } = useTranslation();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  // A browser clock behind the service's must not yield a future time.
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  const [unit, size] = steps.find(([, length]) => seconds >= length) ?? ['second', Infinity];
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  return (
    <time dateTime={at} title={`${at.replace('T', ' ').replace('Z', '')} UTC`}>
      {format.format(-Math.floor(seconds / size), unit)}
    </time>
  );
}

/** The time between two moments. Without an end it is the time until now, and keeps counting. */
export function Duration({ from, to }: { from: string; to: string | null }) {
  const { language } = useTranslation();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (to !== null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [to]);
  const ms = Math.max(0, (to === null ? now : Date.parse(to)) - Date.parse(from));
  return <span className="number">{formatDuration(ms, language, to === null)}</span>;
}

/** A duration in milliseconds. */
export function Took({ ms }: { ms: number }) {
  const { language } = useTranslation();
  return <span className="number">{formatDuration(ms, language)}</span>;
}

/** `1.4 s`, `2 min 5 s`, `3 h 10 min`; with `whole`, in whole seconds. */
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

const colors: Record<Status, string> = {
  IN_QUEUE: 'gray',
  IN_PROGRESS: 'blue',
  COMPLETED: 'fare',
  FAILED: 'red',
  CANCELLED: 'gray',
};

export function StatusBadge({ status }: { status: Status }) {
  const { t } = useTranslation('common');
  return (
    <Dot color={colors[status]} miw="max-content">
      {t(`status.${status}`)}
    </Dot>
  );
}
