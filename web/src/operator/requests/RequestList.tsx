import { Text } from '@mantine/core';
import { IconActivity } from '@tabler/icons-react';
import type { AnyRequest } from '../../api-types.ts';
import { type Column, column } from '../../components/list/DataList.tsx';
import { PagedList } from '../../components/list/PagedList.tsx';
import { Usd } from '../../components/text.tsx';
import { useOperatorPages } from '../../queries.ts';
import { RequestLine, RequestName, RequestPrice, RequestState } from '../../requests/columns.tsx';
import { AccountLink, RequestLink } from '../links.tsx';
import { type Change, RequestFilters } from './RequestFilters.tsx';
import { queryOf, type RequestSearch } from './request-search.ts';
import { ModelName } from '../../requests/model-names.tsx';
import { useTranslation } from '../../i18n.ts';
import './requests-texts.ts';

/** Requests of all accounts, or of one, with their cost. The address has the filters. */
export function RequestList(props: {
  search: RequestSearch;
  onChange: (change: Change) => void;
  /** The one account whose requests are shown; left out: any. */
  account_id?: string;
}) {
  const { t } = useTranslation('operator_requests');
  const { search, onChange, account_id } = props;
  const query = queryOf({ ...search, account: account_id ?? search.account });
  const found = useOperatorPages('GET /requests', { query });
  const isFiltered = Object.entries(query).some(
    ([name, value]) => value !== undefined && !(name === 'account_id' && account_id),
  );
  const empty = isFiltered ? 'none' : 'empty';
  return (
    <>
      <RequestFilters
        search={search}
        onChange={onChange}
        ofAccount={account_id !== undefined}
        rows={found.rows}
      />
      <PagedList
        of={found}
        empty={{
          icon: <IconActivity />,
          title: t(`${empty}_title`),
          text: t(isFiltered && found.more ? 'look_further' : `${empty}_text`),
        }}
        label={t('common:nav.requests')}
        columns={useColumns(account_id === undefined)}
        keyOf={(row) => row.request_id}
        tableFrom={920}
        card={(row) => (
          <RequestLine
            request={row}
            note={[
              ...(account_id === undefined ? [row.account_name ?? row.email] : []),
              row.upstream,
            ].join(' · ')}
          >
            <RequestLink id={row.request_id}>
              <ModelName id={row.model_id} />
            </RequestLink>
          </RequestLine>
        )}
      />
    </>
  );
}

function useColumns(isNamed: boolean): Column<AnyRequest>[] {
  const { t } = useTranslation('operator_requests');
  const ofAccount = column.plain<AnyRequest>(t('common:account'), (row) => (
    <AccountLink of={row} />
  ));
  return [
    column.plain(t('common:model'), ({ request_id, model_id }) => (
      <RequestName request_id={request_id}>
        <RequestLink id={request_id}>
          <ModelName id={model_id} />
        </RequestLink>
      </RequestName>
    )),
    ...(isNamed ? [ofAccount] : []),
    column.plain(t('status'), (row) => <RequestState request={row} />),
    column.plain(t('common:upstream'), (row) => row.upstream),
    column.figure(t('common:charged'), (row) => <RequestPrice request={row} />),
    column.figure(t('cost'), (row) => <Known micro={row.cost_usd_micro} of={row} />),
    column.figure(t('common:margin'), (row) => <Known micro={row.margin_usd_micro} of={row} />),
    column.when(t('time'), (row) => row.created_at),
  ];
}

function Known({ micro, of: { status } }: { micro: string | null; of: AnyRequest }) {
  const { t } = useTranslation('operator_requests');
  if (micro !== null) return <Usd micro={micro} />;
  return (
    <Text span c="dimmed" fz="sm">
      {status === 'COMPLETED' ? t('unknown') : '—'}
    </Text>
  );
}
