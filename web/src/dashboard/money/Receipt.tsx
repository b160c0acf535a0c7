import { Anchor, Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { usePathPart } from '../../address.ts';
import { ApiFailure } from '../../api.ts';
import { Failure } from '../../components/Failure.tsx';
import { BackLink } from '../../components/frame/BackLink.tsx';
import { NothingHere } from '../../components/frame/NotFound.tsx';
import { ReceiptSheet } from '../../components/receipt/ReceiptSheet.tsx';
import { Note } from '../../components/styles.ts';
import { useAccountQuery } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';

/** The receipt of a deposit. */
export function Receipt() {
  const { t } = useTranslation('receipt');
  const transfer_id = usePathPart('transfer_id');
  const found = useAccountQuery('GET /receipts/:transfer_id', { params: { transfer_id } });
  const { data, error } = found;
  if (error instanceof ApiFailure && error.status === 404) return <NothingHere error={error} />;
  return (
    <>
      <BackLink to="/dashboard/money">{t('statement')}</BackLink>
      {error && <Failure error={error} retry={() => void found.refetch()} />}
      {found.isPending && <Skeleton h={420} maw={760} radius="md" />}
      {data && <ReceiptSheet receipt={data} />}
      {data && (
        <Note mt="md" className="no-print">
          <Anchor component={Link} to="/dashboard/team" inherit>
            {t('bill_to')}
          </Anchor>
        </Note>
      )}
    </>
  );
}
