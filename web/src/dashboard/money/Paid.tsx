import '../../components/receipt/receipt-texts.ts';
import { Anchor, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Movement } from '../../api-types.ts';
import { Transaction } from '../../components/Transaction.tsx';
import { useTranslation } from '../../i18n.ts';

/** How a deposit was paid: its transaction and its receipt. Nothing for other movements. */
export function Paid(props: {
  transferId: string;
  of: Pick<Movement, 'has_receipt' | 'transaction'>;
}) {
  const { has_receipt, transaction } = props.of;
  if (!has_receipt) return null;
  return (
    <Group gap="2px 10px" component="span" display="flex">
      {transaction && (
        <>
          {transaction.network}
          <Transaction of={transaction} />
        </>
      )}
      <ReceiptLink id={props.transferId} />
    </Group>
  );
}

export function ReceiptLink({ id }: { id: string }) {
  const { t } = useTranslation('receipt');
  return (
    <Anchor component={Link} to={`/dashboard/money/receipts/${id}`} size="xs">
      {t('receipt')}
    </Anchor>
  );
}
