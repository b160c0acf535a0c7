import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import type { RevenueDay } from '../api-types.ts';
import { useTranslation } from '../i18n.ts';
import { useLocale } from '../components/text.tsx';
import { briefUsd } from '../money.ts';
import './overview-texts.ts';

/** Revenue and cost by day. Hidden from screen readers, which have the table view instead. */
export default function RevenueChart({ days }: { days: RevenueDay[] }) {
  const { t } = useTranslation('operator_overview');
  const locale = useLocale();
  const shortDay = new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
  });
  const data = days.map((day) => ({
    day: shortDay.format(new Date(`${day.name}T00:00:00Z`)),
    revenue: Number(day.charged_usd_micro) / 1e6,
    cost: Number(day.cost_usd_micro) / 1e6,
  }));
  return (
    <BarChart
      h={260}
      data={data}
      dataKey="day"
      series={[
        { name: 'revenue', label: t('revenue'), color: 'var(--c1)' },
        { name: 'cost', label: t('cost'), color: 'var(--n7)' },
      ]}
      withLegend
      tickLine="none"
      gridAxis="x"
      maxBarWidth={22}
      valueFormatter={(usd) => briefUsd(BigInt(Math.round(usd * 1e6)))}
      yAxisProps={{ width: 72, tickFormatter: (usd: number) => axisUsd(usd) }}
      xAxisProps={{ minTickGap: 24 }}
      barProps={{ isAnimationActive: false, radius: 2 }}
      barChartProps={{ accessibilityLayer: false, barGap: 1, barCategoryGap: '15%' }}
      aria-hidden
    />
  );
}

/** Axis labels are round numbers. */
function axisUsd(usd: number): string {
  return `$${new Intl.NumberFormat('en', { maximumFractionDigits: 6 }).format(usd)}`;
}
