import { Box, Group, SegmentedControl, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { IconChartBar } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from '../i18n.ts';
import type { Revenue, RevenueDay, RevenueSum } from '../api-types.ts';
import { chartHeight } from '../components/chart/Chart.tsx';
import { dayMs } from '../components/date/days.ts';
import { type Column, column, DataList } from '../components/list/DataList.tsx';
import { Empty } from '../components/list/Empty.tsx';
import { Usd, useLocale, usePercent } from '../components/text.tsx';
import { Figure } from './Figure.tsx';
import { firstMoment, nameOfDay, sumColumns } from './figures.tsx';
import { RequestsLink } from './links.tsx';
import './overview-texts.ts';
import type { RequestSearch } from './requests/request-search.ts';
import { RevenueChart } from './RevenueChart.tsx';

/** With the chart's legend: one line, two on a phone. */
const wholeHeight = { base: chartHeight + 60, xs: chartHeight + 36 };

const views = ['money', 'requests', 'table'] as const;

/** The sums of the period, each with its change, above their chart. */
export function Revenues({ figures }: { figures: Revenue | undefined }) {
  const { t } = useTranslation('operator_overview');
  const [shown, setShown] = useState<(typeof views)[number]>('money');
  const isEmpty = figures?.by_day.every((day) => day.completed + day.failed === 0);
  return (
    <section>
      <Totals figures={figures} />
      <Group justify="flex-end" my="md">
        <SegmentedControl
          size="xs"
          aria-label={t('as')}
          value={shown}
          onChange={setShown}
          data={views.map((value) => ({ value, label: t(`views.${value}`) }))}
        />
      </Group>
      <Box mih={wholeHeight}>
        {figures === undefined ? (
          <Skeleton h={wholeHeight} aria-busy="true" />
        ) : isEmpty ? (
          <Empty icon={<IconChartBar />} title={t('nothing_title')} text={t('nothing_text')} />
        ) : shown === 'table' ? (
          <DayTable figures={figures} />
        ) : (
          <RevenueChart figures={figures} of={shown} />
        )}
      </Box>
    </section>
  );
}

interface Total {
  label: string;
  value: (sum: RevenueSum) => bigint;
  /** The direction that is good news. */
  good?: 'up' | 'down';
  isCount?: boolean;
  /** The requests that it counts. */
  status?: RequestSearch['status'];
  more?: string | false | null;
}

/** Each keeps its place while it loads. */
function Totals({ figures }: { figures: Revenue | undefined }) {
  const count = useCount();
  const from = firstMoment(figures);
  return (
    <SimpleGrid cols={{ base: 2, xs: 3, lg: 5 }} spacing="md">
      {useTotals(figures?.totals).map(({ label, value, good, isCount, status, more }, i) => (
        <Figure
          key={label}
          fz={i === 0 ? 28 : 20}
          label={label}
          note={
            <Box mih={36}>
              {figures && <Change figures={figures} of={value} good={good} says={i === 0} />}
              {more && <div>{more}</div>}
            </Box>
          }
        >
          {figures ? (
            <RequestsLink search={{ status, from }}>
              {isCount ? (
                count(Number(value(figures.totals)))
              ) : (
                <Usd micro={value(figures.totals)} />
              )}
            </RequestsLink>
          ) : (
            <Skeleton h={30} w="70%" my={3} />
          )}
        </Figure>
      ))}
    </SimpleGrid>
  );
}

function useTotals(totals: RevenueSum | undefined): Total[] {
  const { t } = useTranslation('operator_overview');
  const percent = usePercent();
  const shareOf = (name: string, part: bigint, whole: bigint) =>
    whole > 0n && t(name, { percent: percent(Number((part * 1_000_000n) / whole)) });
  const money = { status: 'COMPLETED' } as const;
  const margin = (sum: RevenueSum) => BigInt(sum.margin_usd_micro);
  return [
    { label: t('revenue'), value: charged, good: 'up', ...money },
    {
      label: t('cost'),
      value: (sum) => BigInt(sum.cost_usd_micro),
      ...money,
      more: totals && totals.uncosted > 0 && t('uncosted', { n: totals.uncosted }),
    },
    {
      label: t('common:margin'),
      value: margin,
      good: 'up',
      ...money,
      more: totals && shareOf('share', margin(totals), charged(totals)),
    },
    { label: t('common:nav.requests'), value: ended, good: 'up', isCount: true },
    {
      label: t('failed_count'),
      value: failed,
      good: 'down',
      isCount: true,
      status: 'FAILED',
      more: totals && shareOf('failed_share', failed(totals), ended(totals)),
    },
  ];
}

const charged = (sum: RevenueSum) => BigInt(sum.charged_usd_micro);
const failed = (sum: RevenueSum) => BigInt(sum.failed);
const ended = (sum: RevenueSum) => BigInt(sum.completed + sum.failed);

/** The change against the period before. The first figure says if there is nothing to compare. */
function Change(props: {
  figures: Revenue;
  of: Total['value'];
  good: Total['good'];
  says: boolean;
}) {
  const { t } = useTranslation('operator_overview');
  const percent = usePercent();
  const { figures, of, good } = props;
  const { totals, before, days } = figures;
  const period = days === 1 ? t('before_hours') : t('before_days', { n: days });
  const [now, was] = [of(totals), before.reduce((sum, each) => sum + of(each), 0n)];
  if (was === 0n) return props.says && <span>{t('no_change', { of: period.toLowerCase() })}</span>;
  const ppm = Number(((now - was) * 1_000_000n) / (was < 0n ? -was : was));
  const way = ppm > 0 ? 'up' : 'down';
  const color = way === good ? 'var(--good)' : 'var(--bad)';
  return (
    <Text inherit span title={period} {...(good && ppm !== 0 && { c: color })}>
      {ppm !== 0 && (way === 'up' ? '▲ ' : '▼ ')}
      {percent(Math.abs(ppm))}
    </Text>
  );
}

function useCount(): (value: number) => string {
  const format = new Intl.NumberFormat(useLocale());
  return (value) => format.format(value);
}

/** The requests of a UTC day or hour. */
function ofDay(name: string): RequestSearch {
  const from = new Date(name);
  const length = name.includes('T') ? 3_600_000 : dayMs;
  return { from: from.toISOString(), to: new Date(from.getTime() + length).toISOString() };
}

function DayTable({ figures }: { figures: Revenue }) {
  const { t } = useTranslation('operator_overview');
  const name = nameOfDay(useLocale());
  const columns: Column<RevenueDay>[] = [
    column.plain(t(figures.days === 1 ? 'hour' : 'day'), (row) => (
      <span className="number">{name(row.name).long}</span>
    )),
    ...sumColumns<RevenueDay>(t, (row) => ofDay(row.name)),
    column.count(t('new_accounts'), (row) => row.new_accounts),
  ];
  return (
    <DataList
      label={t('by_day')}
      columns={columns}
      rows={figures.by_day.toReversed()}
      keyOf={(row) => row.name}
      asTable
    />
  );
}
