import { useTranslation } from 'react-i18next';

/** How long something took or takes, in the two largest units that say something. */
export function Duration({ ms }: { ms: number }) {
  const { i18n } = useTranslation();
  return <span className="number">{durationText(ms, i18n.language)}</span>;
}

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

export function durationText(ms: number, language: string): string {
  if (ms < 1_000) return inUnit(Math.round(ms), 'millisecond', language);
  if (ms < 10_000) return inUnit(Math.round(ms / 100) / 10, 'second', language);
  const at = units.findIndex(([, size]) => ms >= size);
  const [unit, size] = units[at]!;
  const count = Math.floor(ms / size);
  const next = units[at + 1];
  const rest = next ? Math.floor((ms - count * size) / next[1]) : 0;
  const first = inUnit(count, unit, language);
  return rest > 0 && count < 10 ? `${first} ${inUnit(rest, next![0], language)}` : first;
}

function inUnit(value: number, unit: string, language: string): string {
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(
    value,
  );
}
