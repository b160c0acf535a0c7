import { Skeleton } from '@mantine/core';
import { usePathPart } from '../../address.ts';
import { ApiFailure } from '../../api.ts';
import { Failure } from '../../components/Failure.tsx';
import { BackLink } from '../../components/frame/BackLink.tsx';
import { NothingHere } from '../../components/frame/NotFound.tsx';
import { ReceiptSheet } from '../../components/receipt/ReceiptSheet.tsx';
import { useOperatorQuery } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';

/** The receipt of an account's deposit, as the customer sees it. */
export function AccountReceipt() {
  const { t } = useTranslation('receipt');
  const params = { account_id: usePathPart('account_id'), transfer_id: usePathPart('transfer_id') };
  const found = useOperatorQuery('GET /accounts/:account_id/receipts/:transfer_id', { params });
  const { data, error } = found;
  if (error instanceof ApiFailure && error.status === 404) return <NothingHere error={error} />;
  return (
    <>
      <BackLink to={`/operator/accounts/${params.account_id}`} search={{ tab: 'statement' }}>
        {t('statement')}
      </BackLink>
      {error && <Failure error={error} retry={() => void found.refetch()} />}
      {found.isPending && <Skeleton h={420} maw={760} radius="md" />}
      {data && <ReceiptSheet receipt={data} />}
    </>
  );
}
