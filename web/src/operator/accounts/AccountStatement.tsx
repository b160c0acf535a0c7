import { Anchor, Stack, Text } from '@mantine/core';
import { IconCoins } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { PlainLink, RequestLink } from '../links.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';
import { Dimmed, RowName } from '../../components/styles.ts';
import type { AccountMovement } from '../../api-types.ts';
import { Usd } from '../../components/text.tsx';
import { Transaction } from '../../components/Transaction.tsx';
import { formatUsd } from '../../money.ts';
import './account-texts.ts';
import { useOperatorPages } from '../../queries.ts';
import { PagedList } from '../../components/list/PagedList.tsx';
import { ModelName } from '../../requests/model-names.tsx';
import { useTranslation } from '../../i18n.ts';

/** Every transfer of an account, newest first. */
export function AccountStatement({ account_id }: { account_id: string }) {
  const { t } = useTranslation('operator_account');
  const found = useOperatorPages('GET /accounts/:account_id/statement', { params: { account_id } });
  const columns: Column<AccountMovement>[] = [
    column.plain(t('movement'), (row) => (
      <>
        <RowName>{t(`moved.${row.kind}`)}</RowName>
        {row.source !== null && <Dimmed>{t(`common:source.${row.source}`)}</Dimmed>}
        {row.transaction !== null && <Dimmed>{row.transaction.network}</Dimmed>}
      </>
    )),
    column.plain(t('what_for'), (row) => (
      <Stack gap={4}>
        {row.model_id !== null && (
          <Anchor component={Link} to={`/operator/catalog/row/${row.model_id}`} fz="sm">
            <ModelName id={row.model_id} />
          </Anchor>
        )}
        {row.request_id !== null && <RequestLink id={row.request_id}>{row.request_id}</RequestLink>}
        {row.transaction !== null && <Transaction of={row.transaction} />}
        {row.reference !== null && row.transaction === null && (
          <Text fz="sm" className="wrap">
            {row.reference}
          </Text>
        )}
        {row.has_receipt && (
          <PlainLink to={`/operator/accounts/${account_id}/receipts/${row.transfer_id}`}>
            {t('receipt:receipt')}
          </PlainLink>
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
    )),
    {
      ...column.figure<AccountMovement>(t('change'), (row) => (
        <Usd micro={row.change_usd_micro} signed digits="six" />
      )),
      isLong: true,
    },
    column.usd(t('after'), (row) => row.available_after_usd_micro, 'six'),
    column.when(t('time'), (row) => row.created_at),
  ];
  return (
    <PagedList
      of={found}
      empty={{ icon: <IconCoins />, title: t('no_movements'), text: t('no_movements_text') }}
      label={t('tabs.statement')}
      columns={columns}
      keyOf={(row) => row.transfer_id}
    />
  );
}
