import { Text } from '@mantine/core';
import { IconActivity } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { RequestLink } from '../links.tsx';
import { type Column, whenColumn } from '../../components/list/DataList.tsx';
import type { AnyRequest } from '../../api-types.ts';
import { RequestName, RequestPrice, RequestState } from '../../requests/columns.tsx';
import { Usd } from '../../components/text.tsx';
import './account-words.ts';
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
    {
      label: t('common:model'),
      cell: ({ request_id, model_id }) => (
        <RequestName request_id={request_id}>
          <RequestLink id={request_id}>{model_id}</RequestLink>
        </RequestName>
      ),
    },
    { label: t('status'), cell: (row) => <RequestState request={row} /> },
    { label: t('common:upstream'), cell: (row) => row.upstream },
    {
      label: t('common:charged'),
      number: true,
      cell: (row) => <RequestPrice request={row} />,
    },
    { label: t('cost'), number: true, cell: (row) => known(row.cost_usd_micro, row) },
    { label: t('common:margin'), number: true, cell: (row) => known(row.margin_usd_micro, row) },
    whenColumn(t('time'), (row) => row.created_at),
  ];
  const known = (micro: string | null, { status }: AnyRequest) => {
    if (micro !== null) return <Usd micro={micro} column />;
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
