import { useLocale } from './locale.ts';

/** A share given in millionths. */
export function Percent({ ppm }: { ppm: number }) {
  return <span className="number">{usePercent()(ppm)}</span>;
}

/** As text, rounded down to a tenth of a percent. */
export function usePercent(): (ppm: number) => string {
  const format = new Intl.NumberFormat(useLocale(), {
    style: 'percent',
    maximumFractionDigits: 1,
    roundingMode: 'trunc',
  });
  return (ppm) => format.format(Math.round(ppm) / 1_000_000);
}
