import { useTranslation } from 'react-i18next';

/** A share in millionths, to a tenth of a percent; the amounts beside it are exact. */
export function Percent({ ppm }: { ppm: number }) {
  const { i18n } = useTranslation();
  return <span className="number">{percentText(ppm, i18n.language)}</span>;
}

export function percentText(ppm: number, language: string): string {
  const style = { style: 'percent', maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(language, style).format(ppm / 1_000_000);
}
