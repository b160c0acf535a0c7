import { Anchor, Group, Skeleton } from '@mantine/core';
import { ModelName } from '../requests/model-names.tsx';
import { useTranslation } from '../i18n.ts';
import { QueryLink } from '../address.ts';
import type { AnyRequest } from '../api-types.ts';
import { type Column, column, DataList } from '../components/list/DataList.tsx';
import { Dimmed, Heading } from '../components/styles.ts';
import { useOperatorQuery } from '../queries.ts';
import { RequestState } from '../requests/columns.tsx';
import { liveQuery } from './live.ts';
import { AccountLink, RequestLink } from './links.tsx';
import './overview-texts.ts';

const failed = { status: 'FAILED' } as const;

/** The newest failed requests of all accounts, with why they failed. */
export function FailedLately() {
  const { t } = useTranslation('operator_overview');
  const { data } = useOperatorQuery('GET /requests', { query: { ...failed, limit: 5 } }, liveQuery);
  const columns: Column<AnyRequest>[] = [
    column.plain(t('name.by_model'), (row) => (
      <RequestLink id={row.request_id}>
        <ModelName id={row.model_id} />
      </RequestLink>
    )),
    column.plain(t('name.by_account'), (row) => <AccountLink of={row} />),
    column.plain(t('name.by_upstream'), (row) => row.upstream),
    column.plain(t('failed_why'), (row) => <RequestState request={row} />),
    column.when(t('failed_at'), (row) => row.created_at),
  ];
  return (
    <section>
      <Group justify="space-between" mb="sm">
        <Heading>{t('failed_lately')}</Heading>
        <Anchor component={QueryLink} to="/operator/requests" search={failed} size="sm">
          {t('failed_all')}
        </Anchor>
      </Group>
      {data === undefined && <Skeleton h={60} />}
      {data?.data.length === 0 && <Dimmed>{t('failed_none')}</Dimmed>}
      {data && data.data.length > 0 && (
        <DataList
          label={t('failed_lately')}
          columns={columns}
          rows={data.data}
          keyOf={(row) => row.request_id}
        />
      )}
    </section>
  );
}
