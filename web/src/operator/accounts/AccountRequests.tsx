import { Text } from '@mantine/core';
import { IconActivity } from '@tabler/icons-react';
import { useTranslation } from '../../i18n.ts';
import { RequestLink } from '../links.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';
import type { AnyRequest } from '../../api-types.ts';
import { RequestName, RequestPrice, RequestState } from '../../requests/columns.tsx';
import { Usd } from '../../components/text.tsx';
import './account-texts.ts';
import { offered, useAddress } from '../search.ts';
import { useOperatorPages } from '../../queries.ts';
import { PagedList } from '../../components/list/PagedList.tsx';
import { FilterSelect } from '../../components/list/FilterSelect.tsx';

/** An account's requests with their cost to the operator. */
export function AccountRequests({ account_id }: { account_id: string }) {
  const { t } = useTranslation('operator_account');
  const [{ status }, setAddress] = useAddress('/operator/accounts/$account_id');
  const found = useOperatorPages('GET /requests', { query: { account_id, status } });
  const columns: Column<AnyRequest>[] = [
    column.plain(t('common:model'), ({ request_id, model_id }) => (
      <RequestName request_id={request_id}>
        <RequestLink id={request_id}>{model_id}</RequestLink>
      </RequestName>
    )),
    column.plain(t('status'), (row) => <RequestState request={row} />),
    column.plain(t('common:upstream'), (row) => row.upstream),
    column.figure(t('common:charged'), (row) => <RequestPrice request={row} />),
    column.figure(t('cost'), (row) => known(row.cost_usd_micro, row)),
    column.figure(t('common:margin'), (row) => known(row.margin_usd_micro, row)),
    column.when(t('time'), (row) => row.created_at),
  ];
  const known = (micro: string | null, { status }: AnyRequest) => {
    if (micro !== null) return <Usd micro={micro} />;
    return (
      <Text span c="dimmed" fz="sm">
        {status === 'COMPLETED' ? t('unknown') : '—'}
      </Text>
    );
  };
  return (
    <>
      <FilterSelect
        label={t('status')}
        all={t('all_statuses')}
        data={offered.statuses.map((value) => ({ value, label: t(`common:status.${value}`) }))}
        value={status}
        onChange={(value) => setAddress({ status: value })}
        width={210}
        mb="md"
      />
      <PagedList
        of={found}
        empty={{
          icon: <IconActivity />,
          title: t(status ? 'no_such_requests' : 'no_requests'),
          text: t(status && found.more ? 'look_further' : 'no_requests_text'),
        }}
        label={t('tabs.requests')}
        columns={columns}
        keyOf={(row) => row.request_id}
      />
    </>
  );
}
