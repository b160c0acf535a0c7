import { Select, Stack, Text } from '@mantine/core';
import { IconActivity } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { RequestMargin } from '../../api-types.ts';
import { DataList, type Column } from '../../components/DataList.tsx';
import { Empty } from '../../components/Empty.tsx';
import { Failure } from '../../components/Failure.tsx';
import { More } from '../../components/More.tsx';
import { StatusBadge } from '../../components/text/StatusBadge.tsx';
import { Usd } from '../../components/text/Usd.tsx';
import { When } from '../../components/text/When.tsx';
import { usePages } from '../../pages.ts';
import './account-words.ts';
import { RequestLink } from '../requests/RequestLink.tsx';
import { offered, useAddress } from '../search.ts';

/** An account's requests with their cost to the operator. */
export function AccountRequests({ account_id }: { account_id: string }) {
  const { t } = useTranslation('operator_account');
  const [{ status }, setAddress] = useAddress('/operator/accounts/$account_id');
  const found = usePages('GET /accounts/:account_id/requests', {
    params: { account_id },
    query: { status },
  });
  const columns: Column<RequestMargin>[] = [
    {
      name: 'model',
      label: t('model'),
      cell: (row) => (
        <Stack gap={0}>
          <RequestLink id={row.request_id}>{row.model_id}</RequestLink>
          <Text fz="xs" c="dimmed" ff="monospace" fw={400} className="wrap">
            {row.request_id}
          </Text>
        </Stack>
      ),
    },
    {
      name: 'status',
      label: t('status'),
      cell: (row) => (
        <Stack gap={2} align="flex-start">
          <StatusBadge status={row.status} />
          {row.error_code !== null && (
            <Text fz="xs" c="dimmed">
              {row.error_code}
            </Text>
          )}
        </Stack>
      ),
    },
    { name: 'upstream', label: t('upstream'), cell: (row) => row.upstream },
    {
      name: 'charged',
      label: t('charged'),
      number: true,
      cell: (row) =>
        row.charged_usd_micro === null ? (
          <Text span c="dimmed" fz="sm">
            <Usd micro={row.quoted_usd_micro} /> {t('quoted')}
          </Text>
        ) : (
          <Usd micro={row.charged_usd_micro} column />
        ),
    },
    { name: 'cost', label: t('cost'), number: true, cell: (row) => known(row.cost_usd_micro, row) },
    {
      name: 'margin',
      label: t('margin'),
      number: true,
      cell: (row) => known(row.margin_usd_micro, row),
    },
    { name: 'time', label: t('time'), number: true, cell: (row) => <When at={row.created_at} /> },
  ];
  const known = (micro: string | null, { status }: RequestMargin) => {
    if (micro !== null) return <Usd micro={micro} column />;
    return (
      <Text span c="dimmed" fz="sm">
        {status === 'COMPLETED' ? t('unknown') : '—'}
      </Text>
    );
  };
  if (found.error) return <Failure error={found.error} retry={found.retry} />;
  return (
    <>
      <Select
        aria-label={t('status')}
        placeholder={t('all_statuses')}
        data={offered.statuses.map((value) => ({ value, label: t(`common:status.${value}`) }))}
        value={status ?? null}
        clearable
        clearButtonProps={{ 'aria-label': t('all_statuses') }}
        onChange={(value) => setAddress({ status: value ?? undefined })}
        w={{ base: '100%', xs: 210 }}
        mb="md"
      />
      {found.rows?.length === 0 ? (
        <Empty
          icon={<IconActivity />}
          title={t(status ? 'no_such_requests' : 'no_requests')}
          text={t(status && found.more ? 'look_further' : 'no_requests_text')}
        />
      ) : (
        <DataList
          label={t('tabs.requests')}
          columns={columns}
          rows={found.rows}
          keyOf={(row) => row.request_id}
        />
      )}
      <More more={found.more} loading={found.isLoadingMore} />
    </>
  );
}
