import { useTranslation } from '../i18n.ts';
import type { Revenue, RevenueSum } from '../api-types.ts';
import { Chart } from '../components/chart/Chart.tsx';
import { useLocale } from '../components/text.tsx';
import { nameOfDay } from './figures.tsx';
import './overview-texts.ts';

type Of = (sum: RevenueSum) => number;
const revenue: Of = (sum) => Number(sum.charged_usd_micro);
const ended: Of = (sum) => sum.completed + sum.failed;

/** Money or requests by day or hour; the period before as a dashed line. */
export function RevenueChart({ figures, of }: { figures: Revenue; of: 'money' | 'requests' }) {
  const { t } = useTranslation('operator_overview');
  const locale = useLocale();
  const { by_day, before, days } = figures;
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  const series = (name: string, color: string, value: Of) => ({
    name,
    color,
    values: by_day.map(value),
  });
  const past = days === 1 ? t('before_hours') : t('before_days', { n: days });
  const shared = {
    label: t('by_day'),
    columnsName: t(days === 1 ? 'hour' : 'day'),
    columns: by_day.map(({ name }) => nameOfDay(locale)(name)),
    isOpen: true,
  };
  if (of === 'requests')
    return (
      <Chart
        {...shared}
        series={[
          series(t('completed'), 'var(--c1)', (sum) => sum.completed),
          series(t('failed_count'), 'var(--c4)', (sum) => sum.failed),
        ]}
        before={{ name: past, values: before.map(ended) }}
        format={(value) => number.format(value)}
      />
    );
  return (
    <Chart
      {...shared}
      shape="lines"
      series={[
        series(t('revenue'), 'var(--c1)', revenue),
        series(t('cost'), 'var(--c2)', (sum) => Number(sum.cost_usd_micro)),
        series(t('common:margin'), 'var(--c3)', (sum) => Number(sum.margin_usd_micro)),
      ]}
      before={{ name: t('revenue_before', { of: past }), values: before.map(revenue) }}
    />
  );
}
