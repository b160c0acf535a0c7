import { Card, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { AccountLink, type OfAccount, RowLink } from '../links.tsx';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { Heading } from '../../components/styles.ts';
import type { QueueUpstream } from '../../api-types.ts';
import { Took, When } from '../../components/text.tsx';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { liveQuery } from '../live.ts';
import { useOperatorQuery } from '../../queries.ts';
import { OpenRequests } from './OpenRequests.tsx';
import { ModelName } from '../../requests/model-names.tsx';
import { useTranslation } from '../../i18n.ts';
import './queue-texts.ts';

type Depth = Pick<QueueUpstream, 'waiting' | 'oldest_seconds'>;

/** Waiting and running requests. */
export function Queue() {
  const { t } = useTranslation('operator_queue');
  const { data, error, dataUpdatedAt, refetch } = useOperatorQuery('GET /queue', {}, liveQuery);
  const names = data?.upstreams.map(({ upstream }) => upstream) ?? [];
  return (
    <>
      <PageTitle title={t('common:nav.queue')} text={t('text')} />
      <Stack gap="lg">
        {error && <Failure error={error} retry={() => void refetch()} since={dataUpdatedAt} />}
        {!data && !error && <Skeleton h={320} />}
        {data && (
          <>
            <Upstreams upstreams={data.upstreams} />
            {data.accounts.length > 0 && (
              <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
                <Section title={t('accounts')}>
                  <DataList
                    label={t('accounts')}
                    columns={[accountColumn(t('common:account')), ...depthColumns(t)]}
                    rows={data.accounts}
                    keyOf={(row) => row.account_id}
                  />
                </Section>
                <Section title={t('models')}>
                  <DataList
                    label={t('models')}
                    columns={[modelColumn(t('common:model')), ...depthColumns(t)]}
                    rows={data.models}
                    keyOf={(row) => row.model_id}
                  />
                </Section>
              </SimpleGrid>
            )}
          </>
        )}
        {(data || error) && <OpenRequests upstreams={names} />}
      </Stack>
    </>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card withBorder padding="lg">
      <Heading mb="sm">{title}</Heading>
      {children}
    </Card>
  );
}

/** Upstreams with work or a pause. Idle upstreams are left out. */
function Upstreams({ upstreams }: { upstreams: QueueUpstream[] }) {
  const { t } = useTranslation('operator_queue');
  const busy = upstreams.filter(
    ({ waiting, in_use, running, paused_until }) =>
      waiting + in_use + running > 0 || paused_until !== null,
  );
  const columns: Column<QueueUpstream>[] = [
    column.plain(t('common:upstream'), ({ upstream }) => (
      <RowLink to={`/operator/queue?upstream=${upstream}`}>{upstream}</RowLink>
    )),
    column.figure(t('waiting'), ({ waiting, waiting_more }) => (
      <span className="number">{waiting_more ? t('or_more', { n: waiting }) : waiting}</span>
    )),
    column.figure(t('oldest'), (row) => age(row.oldest_seconds)),
    column.figure(t('slots'), ({ in_use, concurrency }) => (
      <span className="number">
        {concurrency === null ? in_use : t('of', { used: in_use, all: concurrency })}
      </span>
    )),
    column.count(t('running'), (row) => row.running),
    column.figure(t('longest'), (row) => age(row.longest_seconds)),
    column.figure(t('rests'), ({ paused_until }) => paused_until && <When at={paused_until} />),
  ];
  return (
    <Section title={t('upstreams')}>
      {busy.length === 0 ? (
        <Text c="dimmed">{t('nobody')}</Text>
      ) : (
        <DataList
          label={t('upstreams')}
          columns={columns}
          rows={busy}
          keyOf={(row) => row.upstream}
        />
      )}
    </Section>
  );
}

/** Null, which shows nothing, if there is no request to show the age of. */
function age(seconds: number | null) {
  return seconds === null ? null : <Took ms={seconds * 1000} />;
}

function accountColumn<Row extends OfAccount>(label: string): Column<Row> {
  return {
    label,
    cell: (row) => (
      <AccountLink of={row} to={`/operator/queue?account=${row.account_id}`} fw={500} />
    ),
  };
}

function modelColumn<Row extends { model_id: string }>(label: string): Column<Row> {
  return {
    label,
    cell: ({ model_id }) => (
      <RowLink to={`/operator/catalog/row/${model_id}`}>
        <ModelName id={model_id} />
      </RowLink>
    ),
  };
}

function depthColumns<Row extends Depth>(t: (name: string) => string): Column<Row>[] {
  return [
    column.count(t('waiting'), (row) => row.waiting),
    column.figure(t('oldest'), (row) => age(row.oldest_seconds)),
  ];
}
