import { Box, Group, SegmentedControl, Skeleton, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import { Dimmed, Heading } from '../../components/styles.ts';
import { Failure } from '../../components/Failure.tsx';
import { Usd } from '../../components/text.tsx';
import { chartHeight } from '../../components/chart/Chart.tsx';
import { periods, spendSearch, type SpendSearch } from '../money/money-search.ts';
import { breakDown, useSpend } from './overview-data.ts';
import { SpendChart } from './SpendChart.tsx';
import { useTranslation } from '../../i18n.ts';

/** With the chart's legend: one line, two on a phone. */
const wholeHeight = { base: chartHeight + 57, xs: chartHeight + 34 };

/** Spend per day, as bars or as a table. */
export function Spend() {
  const { t } = useTranslation('overview');
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
  const broken = spend.data && breakDown(spend.data, by);
  return (
    <section>
      <Group justify="space-between" align="flex-start" gap="md" mb="md">
        <Box>
          <Heading>
            {t('spend')}
            {broken && (
              <Text span inherit ml="xs">
                <Usd micro={broken.total} />
              </Text>
            )}
          </Heading>
          <Dimmed>
            {/* Its place is kept while it loads: a line more would move the chart. */}
            <span style={broken ? undefined : { visibility: 'hidden' }}>
              <Usd micro={sumOf(broken?.before ?? [])} /> {t('period_before', { days: period })}
              {' · '}
            </span>
            {t('spend_text')}
          </Dimmed>
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
      <Box mih={wholeHeight}>
        {spend.error && <Failure error={spend.error} retry={() => void spend.refetch()} />}
        {spend.isPending && <Skeleton h={wholeHeight} />}
        {broken && broken.total === 0n && (
          <Text c="dimmed" py="xl" ta="center">
            {t('chart_none', { days: period })}
          </Text>
        )}
        {broken && broken.total > 0n && <SpendChart {...broken} asTable={view === 'table'} />}
      </Box>
    </section>
  );
}

function sumOf(amounts: bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}
