import { Card, Group, SegmentedControl, SimpleGrid, Skeleton, Stack } from '@mantine/core';
import { IconChartBar } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { type Column, column, DataList } from '../components/list/DataList.tsx';
import { Heading } from '../components/styles.ts';
import { Usd, useLocale, usePercent } from '../components/text.tsx';
import type { AuditResult, Revenue, RevenueDay, RevenueSum } from '../api-types.ts';
import { Empty } from '../components/list/Empty.tsx';
import { useTranslation } from '../i18n.ts';
import { Failure } from '../components/Failure.tsx';
import { PageTitle } from '../components/frame/PageTitle.tsx';
import { Stat } from '../components/Stat.tsx';
import { Attention } from './Attention.tsx';
import { Books } from './Books.tsx';
import { Breakdown } from './Breakdown.tsx';
import { briefUsd } from '../money.ts';
import { SourceSums } from './SourceSums.tsx';
import './overview-texts.ts';
import { offered, useAddress } from './search.ts';
import { sumColumns } from './figures.tsx';
import { useOperatorQuery, previous } from '../queries.ts';

const RevenueChart = lazy(() => import('./RevenueChart.tsx'));

/** The service's revenue. */
export function Overview() {
  const { t } = useTranslation('operator_overview');
  const [{ days = '30' }, setAddress] = useAddress('/operator');
  const found = useOperatorQuery('GET /overview', { query: { days } }, previous);
  const { data, error } = found;
  return (
    <>
      <PageTitle title={t('common:nav.overview')} text={t('text')}>
        <SegmentedControl
          aria-label={t('common:period')}
          value={days}
          onChange={(value) => setAddress({ days: value === '30' ? undefined : value })}
          data={offered.periods.map((value) => ({ value, label: t('days', { n: value }) }))}
        />
      </PageTitle>
      <Attention />
      {error ? (
        <Failure error={error} retry={() => void found.refetch()} />
      ) : (
        <Stack gap="lg">
          <Totals figures={data} />
          <SourceSums label={t('deposits')} sums={data?.deposits} />
          <ByDay days={data?.by_day} />
          {data && Number(data.totals.completed) > 0 && <Breakdown figures={data} />}
          <Books verdict={data?.books} />
        </Stack>
      )}
    </>
  );
}

function Totals({ figures }: { figures: Revenue | undefined }) {
  const { t } = useTranslation('operator_overview');
  const locale = useLocale();
  const percent = usePercent();
  const count = (value: number) => new Intl.NumberFormat(locale).format(value);
  const totals = figures?.totals;
  const owed = figures?.debt_usd_micro ?? '0';
  const share = totals ? marginPpm(totals) : null;
  const fresh = figures?.by_day.reduce((sum, day) => sum + day.new_accounts, 0) ?? 0;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
      <Stat label={t('revenue')}>{totals && <Usd micro={totals.charged_usd_micro} />}</Stat>
      <Stat
        label={t('cost')}
        note={totals && totals.uncosted > 0 ? t('uncosted', { n: totals.uncosted }) : undefined}
      >
        {totals && <Usd micro={totals.cost_usd_micro} />}
      </Stat>
      <Stat
        label={t('common:margin')}
        note={share === null ? undefined : t('share', { percent: percent(share) })}
      >
        {totals && <Usd micro={totals.margin_usd_micro} />}
      </Stat>
      <Stat
        label={t('common:nav.requests')}
        note={totals && t('failed', { n: count(totals.failed) })}
      >
        {totals && <span className="number">{count(totals.completed + totals.failed)}</span>}
      </Stat>
      <Stat
        label={t('held')}
        note={owed === '0' ? t('held_note') : t('owed', { amount: briefUsd(owed) })}
      >
        {figures && <Usd micro={figures.available_usd_micro} />}
      </Stat>
      <Stat label={t('open')} note={t('open_note')}>
        {figures && <Usd micro={figures.reserved_usd_micro} />}
      </Stat>
      <Stat
        label={t('common:nav.accounts')}
        note={figures && t('accounts_note', { n: count(fresh) })}
      >
        {figures && <span className="number">{count(figures.accounts)}</span>}
      </Stat>
      <BooksStat verdict={figures?.books} />
    </SimpleGrid>
  );
}

function BooksStat({ verdict }: { verdict: AuditResult | null | undefined }) {
  const { t } = useTranslation('operator_overview');
  const name = verdict === null ? 'books_never' : verdict?.ok ? 'books_ok' : 'books_broken';
  return (
    <Stat label={t('books')}>
      {verdict !== undefined && (
        <Group
          component="span"
          fz={16}
          fw={600}
          lh={1.3}
          {...(verdict?.ok === false && { c: 'red' })}
        >
          {t(name)}
        </Group>
      )}
    </Stat>
  );
}

/** The margin as a share of revenue, in millionths. */
function marginPpm({ charged_usd_micro, margin_usd_micro }: RevenueSum): number | null {
  const revenue = BigInt(charged_usd_micro);
  return revenue <= 0n ? null : Number((BigInt(margin_usd_micro) * 1_000_000n) / revenue);
}

function ByDay({ days }: { days: RevenueDay[] | undefined }) {
  const { t } = useTranslation('operator_overview');
  const [shown, setShown] = useState('chart');
  const isEmpty = days?.every((day) => day.completed + day.failed === 0);
  return (
    <Card withBorder p="md">
      <Group justify="space-between" mb="md">
        <Heading>{t('by_day')}</Heading>
        {!isEmpty && (
          <SegmentedControl
            size="xs"
            aria-label={t('as')}
            value={shown}
            onChange={setShown}
            data={['chart', 'table'].map((value) => ({ value, label: t(value) }))}
          />
        )}
      </Group>
      {days === undefined ? (
        <Skeleton h={260} />
      ) : isEmpty ? (
        <Empty icon={<IconChartBar />} title={t('nothing_title')} text={t('nothing_text')} />
      ) : shown === 'chart' ? (
        <Suspense fallback={<Skeleton h={260} />}>
          <RevenueChart days={days} />
        </Suspense>
      ) : (
        <DayTable days={days} />
      )}
    </Card>
  );
}

function DayTable({ days }: { days: RevenueDay[] }) {
  const { t } = useTranslation('operator_overview');
  const columns: Column<RevenueDay>[] = [
    column.plain(t('day'), (row) => <span className="number">{row.name}</span>),
    ...sumColumns<RevenueDay>(t),
    column.count(t('new_accounts'), (row) => row.new_accounts),
  ];
  const rows = [...days].reverse();
  return (
    <DataList label={t('by_day')} columns={columns} rows={rows} keyOf={(row) => row.name} asTable />
  );
}
