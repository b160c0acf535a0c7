import { useLocale } from './locale.ts';

/** A share in millionths; the amounts beside it are exact. */
export function Percent({ ppm }: { ppm: number }) {
  return <span className="number">{usePercent()(ppm)}</span>;
}

/** The same as a text: to a tenth of a percent, and never more than it is. */
export function usePercent(): (ppm: number) => string {
  const format = new Intl.NumberFormat(useLocale(), {
    style: 'percent',
    maximumFractionDigits: 1,
    roundingMode: 'trunc',
  });
  return (ppm) => format.format(Math.round(ppm) / 1_000_000);
}
