import { SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { usePathPart } from '../../address.ts';
import type { UpstreamDetail } from '../../api-types.ts';
import { Chart } from '../../components/chart/Chart.tsx';
import { Failure } from '../../components/Failure.tsx';
import { BackLink } from '../../components/frame/BackLink.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Dimmed, Heading } from '../../components/styles.ts';
import { formatDuration, useMoment, usePercent } from '../../components/text.tsx';
import { useOperatorQuery } from '../../queries.ts';
import { RowLink } from '../links.tsx';
import { liveQuery } from '../live.ts';
import { UpstreamCard } from './UpstreamCard.tsx';
import { UpstreamControl } from './UpstreamControl.tsx';
import { useTranslation } from '../../i18n.ts';
import './upstreams-texts.ts';

/** One upstream: its state, its last day, and what it sells. */
export function Upstream() {
  const { t } = useTranslation('operator_upstreams');
  const name = usePathPart('upstream');
  const found = useOperatorQuery(
    'GET /upstreams/:upstream',
    { params: { upstream: name } },
    liveQuery,
  );
  const { data: upstream, error } = found;
  return (
    <>
      <BackLink to="/operator/upstreams">{t('back')}</BackLink>
      <PageTitle title={name} />
      {error && <Failure error={error} retry={() => void found.refetch()} />}
      {!upstream && !error && <Skeleton h={280} />}
      {upstream && (
        <Stack gap="xl">
          <UpstreamControl upstream={upstream} />
          <Charts upstream={upstream} />
          <UpstreamCard upstream={upstream} />
          <Sells upstream={upstream} />
        </Stack>
      )}
    </>
  );
}

function Charts({ upstream: { hours, counted_max } }: { upstream: UpstreamDetail }) {
  const { t, language } = useTranslation('operator_upstreams');
  const percent = usePercent();
  const short = useMoment({ hour: '2-digit', minute: '2-digit' });
  const long = useMoment();
  const columns = hours.map(({ from }) => ({ short: short(from), long: long(from) }));
  const shown = { columns, columnsName: t('chart_hour'), isOpen: true };
  const of = (name: string, color: string, value: (hour: Hour) => number | null) => [
    { name, color, values: hours.map(value) },
  ];
  return (
    <section aria-label={t('last_day')}>
      <Heading mb="sm">{t('last_day')}</Heading>
      <SimpleGrid cols={{ base: 1, lg: 3 }} spacing="xl">
        <Titled title={t('chart_latency')}>
          <Chart
            {...shown}
            label={t('chart_latency')}
            shape="lines"
            series={[
              ...of(t('median'), 'var(--c2)', ({ run_median_ms }) => run_median_ms),
              ...of(t('p95_of'), 'var(--c3)', ({ run_p95_ms }) => run_p95_ms),
            ]}
            format={(ms) => formatDuration(ms, language)}
          />
        </Titled>
        <Titled title={t('chart_errors')}>
          <Chart
            {...shown}
            label={t('chart_errors')}
            series={of(t('chart_errors'), 'var(--c4)', ({ completed, failed }) =>
              completed + failed === 0 ? 0 : failed / (completed + failed),
            )}
            format={(share) => percent(Math.round(share * 1_000_000))}
          />
        </Titled>
        <Titled title={t('chart_cost')}>
          <Chart
            {...shown}
            label={t('chart_cost')}
            series={of(t('chart_cost'), 'var(--c1)', (hour) => Number(hour.cost_usd_micro))}
          />
        </Titled>
      </SimpleGrid>
      <Dimmed mt="sm">
        {t('chart_counted', { n: new Intl.NumberFormat(language).format(counted_max) })}
      </Dimmed>
    </section>
  );
}

function Titled({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <Heading order={3} fz="sm" mb="xs">
        {title}
      </Heading>
      {children}
    </div>
  );
}

type Hour = UpstreamDetail['hours'][number];

function Sells({ upstream: { sells } }: { upstream: UpstreamDetail }) {
  const { t } = useTranslation('operator_upstreams');
  return (
    <section aria-label={t('sells')}>
      <Heading mb="sm">{t('sells')}</Heading>
      {sells.length === 0 && <Text c="dimmed">{t('sells_none')}</Text>}
      <Stack gap={6}>
        {sells.map(({ model_id, name }) => (
          <Text key={model_id} size="sm" className="wrap">
            <RowLink to={`/operator/catalog/row/${model_id}`}>{name}</RowLink>{' '}
            <Text span c="dimmed" ff="monospace" fz={12}>
              {model_id}
            </Text>
          </Text>
        ))}
      </Stack>
    </section>
  );
}
