import { Box, Card, Group, SegmentedControl, Skeleton, Table, Text, Title } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Fragment, lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../components/Failure.tsx';
import { useLocale } from '../components/locale.ts';
import { Usd } from '../components/Usd.tsx';
import { formatUsd } from '../money.ts';
import { periods, type SpendSearch } from './money-search.ts';
import { breakDown, useSpend, type Day, type Series } from './overview-data.ts';

const SpendChart = lazy(() => import('./SpendChart.tsx'));

/** What was spent a day: bars, or the same as a table. */
export function Spend() {
  const { t } = useTranslation('overview');
  const { t: everywhere } = useTranslation('common');
  const locale = useLocale();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as SpendSearch;
  const { days: period = 30, by = 'kind', view = 'chart' } = search;
  const spend = useSpend(period);
  const choose = (changed: { [Name in keyof SpendSearch]?: SpendSearch[Name] | undefined }) =>
    void navigate({
      to: '/cabinet',
      search: { ...search, ...changed },
      replace: true,
      resetScroll: false,
    } as never);
  const nameOf = (series: Series) =>
    series.kind ? everywhere(`kind.${series.kind}`) : (series.model_id ?? t('others'));
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
          <Title order={2} fz="lg">
            {t('spend')}
            {broken && (
              <Text span inherit fw={500} c="dimmed" ml="xs">
                <Usd micro={broken.total} />
              </Text>
            )}
          </Title>
          <Text c="dimmed" size="sm">
            {t('spend_text')}
          </Text>
        </Box>
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label={t('period')}
            data={periods.map((days) => ({ value: String(days), label: t('days', { days }) }))}
            value={String(period)}
            onChange={(days) => choose({ days: days === '30' ? undefined : Number(days) })}
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
        <SpendTable {...broken} nameOf={nameOf} dayOf={dayOf} />
      )}
    </Card>
  );
}

function labelOf(
  { days, total }: { days: Day[]; total: bigint },
  say: (facts: { total: string; day: string; most: string }) => string,
): string {
  const most = days.reduce((best, each) => (each.total > best.total ? each : best));
  return say({ total: `$${formatUsd(total)}`, day: most.day, most: `$${formatUsd(most.total)}` });
}

function SpendTable(props: {
  days: Day[];
  series: Series[];
  total: bigint;
  nameOf: (series: Series) => string;
  dayOf: (day: string, long?: boolean) => string;
}) {
  const { t } = useTranslation('overview');
  const { days, series, total, nameOf, dayOf } = props;
  const used = days.filter(({ requests }) => requests > 0).toReversed();
  const requests = days.reduce((sum, day) => sum + day.requests, 0);
  return (
    <Table.ScrollContainer
      type="native"
      minWidth={260 + series.length * 120}
      maxHeight={420}
      tabIndex={0}
      role="region"
      aria-label={t('spend')}
    >
      <Table verticalSpacing={6} highlightOnHover stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('day')}</Table.Th>
            {series.map((each) => (
              <Table.Th key={each.name} ta="right">
                <Breakable text={nameOf(each)} />
              </Table.Th>
            ))}
            <Table.Th ta="right">{t('total')}</Table.Th>
            <Table.Th ta="right">{t('requests')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {used.map((day) => (
            <Table.Tr key={day.day}>
              <Table.Th scope="row" fw={500} className="number">
                {dayOf(day.day, true)}
              </Table.Th>
              {day.parts.map((part, i) => (
                <Table.Td key={series[i]!.name} ta="right" c={part === 0n ? 'dimmed' : undefined}>
                  <Usd micro={part} />
                </Table.Td>
              ))}
              <Table.Td ta="right" fw={600}>
                <Usd micro={day.total} />
              </Table.Td>
              <Table.Td ta="right" className="number">
                {day.requests}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
        <Table.Tfoot>
          <Table.Tr>
            <Table.Th scope="row">{t('total')}</Table.Th>
            {series.map((each) => (
              <Table.Th key={each.name} ta="right">
                <Usd micro={each.total} />
              </Table.Th>
            ))}
            <Table.Th ta="right">
              <Usd micro={total} />
            </Table.Th>
            <Table.Th ta="right" className="number">
              {requests}
            </Table.Th>
          </Table.Tr>
        </Table.Tfoot>
      </Table>
    </Table.ScrollContainer>
  );
}

/** A model's name may go on in the next line after a slash. */
function Breakable({ text }: { text: string }) {
  const parts = text.split('/');
  return parts.map((part, i) =>
    i === parts.length - 1 ? (
      part
    ) : (
      <Fragment key={i}>
        {part}/<wbr />
      </Fragment>
    ),
  );
}
