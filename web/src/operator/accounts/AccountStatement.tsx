import { Anchor, Stack, Text } from '@mantine/core';
import { IconCoins } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { RowName } from '../../components/styles.ts';
import type { AccountMovement } from '../../api-types.ts';
import { DataList, type Column } from '../../components/DataList.tsx';
import { Empty } from '../../components/Empty.tsx';
import { Failure } from '../../components/Failure.tsx';
import { More } from '../../components/More.tsx';
import { Usd } from '../../components/text/Usd.tsx';
import { When } from '../../components/text/When.tsx';
import { formatUsd } from '../../money.ts';
import { usePages } from '../../pages.ts';
import './account-words.ts';
import { RequestLink } from '../requests/RequestLink.tsx';

/** Every transfer of an account, newest first. */
export function AccountStatement({ account_id }: { account_id: string }) {
  const { t } = useTranslation('operator_account');
  const found = usePages('GET /accounts/:account_id/statement', { params: { account_id } });
  const columns: Column<AccountMovement>[] = [
    {
      name: 'movement',
      label: t('movement'),
      cell: (row) => <RowName>{t(`moved.${row.kind}`)}</RowName>,
    },
    {
      name: 'what_for',
      label: t('what_for'),
      cell: (row) => (
        <Stack gap={4}>
          {row.model_id !== null && (
            <Anchor component={Link} to={`/operator/catalog/row/${row.model_id}`} fz="sm">
              {row.model_id}
            </Anchor>
          )}
          {row.request_id === null ? (
            <Text fz="sm" className="wrap">
              {row.reference}
            </Text>
          ) : (
            <RequestLink id={row.request_id}>{row.request_id}</RequestLink>
          )}
          {row.kind === 'charge' && (
            <Text fz="sm" c="dimmed">
              {t('charged_of', { amount: `$${formatUsd(row.amount_usd_micro)}` })}
            </Text>
          )}
          {row.reason !== null && (
            <Text fz="sm" c="dimmed" className="wrap">
              {row.reason}
            </Text>
          )}
        </Stack>
      ),
    },
    {
      name: 'change',
      label: t('change'),
      number: true,
      cell: (row) => <Usd micro={row.change_usd_micro} signed column />,
    },
    {
      name: 'after',
      label: t('after'),
      number: true,
      cell: (row) => <Usd micro={row.available_after_usd_micro} column />,
    },
    { name: 'time', label: t('time'), number: true, cell: (row) => <When at={row.created_at} /> },
  ];
  if (found.error) return <Failure error={found.error} retry={found.retry} />;
  if (found.rows?.length === 0)
    return <Empty icon={<IconCoins />} title={t('no_movements')} text={t('no_movements_text')} />;
  return (
    <>
      <DataList
        label={t('tabs.statement')}
        columns={columns}
        rows={found.rows}
        keyOf={(row) => row.transfer_id}
      />
      <More more={found.more} loading={found.isLoadingMore} />
    </>
  );
}
