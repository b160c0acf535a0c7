import { Box, Card, Group, SegmentedControl, Skeleton, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import { lazy, Suspense } from 'react';
import { Dimmed, Heading } from '../../components/styles.ts';
import { Failure } from '../../components/Failure.tsx';
import { Usd, useLocale } from '../../components/text.tsx';
import { briefUsd } from '../../money.ts';
import { periods, spendSearch, type SpendSearch } from '../money/money-search.ts';
import { breakDown, useSpend, type Day, type Series } from './overview-data.ts';
import { useTranslation } from '../../i18n.ts';

const SpendChart = lazy(() => import('./SpendChart.tsx'));
const SpendTable = lazy(() => import('./SpendTable.tsx'));

/** Spend per day, as bars or as a table. */
export function Spend() {
  const { t } = useTranslation('overview');
  const locale = useLocale();
  const navigate = useNavigate();
  const search = useQueryOf(spendSearch);
  const { days: period = 30, by = 'kind', view = 'chart' } = search;
  const spend = useSpend(period);
  const choose = (changed: { [Name in keyof SpendSearch]?: SpendSearch[Name] | undefined }) =>
    void navigate({
      to: '/dashboard',
      search: { ...search, ...changed },
      replace: true,
      resetScroll: false,
    });
  const nameOf = (series: Series) =>
    series.kind ? t(`common:kind.${series.kind}`) : (series.model_id ?? t('others'));
  const dayOf = (day: string, long = false) =>
    new Intl.DateTimeFormat(locale, {
      timeZone: 'UTC',
      ...(long ? { dateStyle: 'medium' } : { day: 'numeric', month: 'short' }),
    }).format(new Date(`${day}T00:00:00Z`));
  const broken = spend.data && breakDown(spend.data, by);
  return (
    <Card withBorder padding="lg">
      <Group justify="space-between" align="flex-start" gap="md" mb="md">
        <Box>
          <Heading>
            {t('spend')}
            {broken && (
              <Text span inherit fw={500} c="dimmed" ml="xs">
                <Usd micro={broken.total} />
              </Text>
            )}
          </Heading>
          <Dimmed>{t('spend_text')}</Dimmed>
        </Box>
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label={t('common:period')}
            data={periods.map((days) => ({ value: String(days), label: t('days', { days }) }))}
            value={String(period)}
            onChange={(days) =>
              choose({ days: days === '30' ? undefined : spendSearch({ days }).days })
            }
          />
          <SegmentedControl
            size="xs"
            aria-label={t('by')}
            data={[
              { value: 'kind', label: t('by_kind') },
              { value: 'model', label: t('by_model') },
            ]}
            value={by}
            onChange={(value) => choose({ by: value === 'model' ? 'model' : undefined })}
          />
          <SegmentedControl
            size="xs"
            aria-label={`${t('as_chart')}, ${t('as_table')}`}
            data={[
              { value: 'chart', label: t('as_chart') },
              { value: 'table', label: t('as_table') },
            ]}
            value={view}
            onChange={(value) => choose({ view: value === 'table' ? 'table' : undefined })}
          />
        </Group>
      </Group>
      {spend.error && <Failure error={spend.error} retry={() => void spend.refetch()} />}
      {spend.isPending && <Skeleton h={300} />}
      {broken && broken.total === 0n && (
        <Text c="dimmed" py="xl" ta="center">
          {t('chart_none', { days: period })}
        </Text>
      )}
      {broken && broken.total > 0n && view === 'chart' && (
        <Suspense fallback={<Skeleton h={300} />}>
          <SpendChart
            {...broken}
            nameOf={nameOf}
            dayOf={dayOf}
            label={labelOf(broken, (facts) =>
              t('chart_label', { ...facts, day: dayOf(facts.day, true), days: period }),
            )}
          />
        </Suspense>
      )}
      {broken && broken.total > 0n && view === 'table' && (
        <Suspense fallback={<Skeleton h={300} />}>
          <SpendTable {...broken} nameOf={nameOf} dayOf={dayOf} />
        </Suspense>
      )}
    </Card>
  );
}

function labelOf(
  { days, total }: { days: Day[]; total: bigint },
  say: (facts: { total: string; day: string; most: string }) => string,
): string {
  const most = days.reduce((best, each) => (each.total > best.total ? each : best));
  return say({ total: briefUsd(total), day: most.day, most: briefUsd(most.total) });
}
