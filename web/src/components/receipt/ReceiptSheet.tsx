import './receipt-texts.ts';
import { Box, Button, Card, Divider, Stack, Text } from '@mantine/core';
import { IconPrinter } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { Receipt } from '../../api-types.ts';
import { Facts } from '../Facts.tsx';
import { PageTitle } from '../frame/PageTitle.tsx';
import { Note } from '../styles.ts';
import { Usd, useMoment } from '../text.tsx';
import { Transaction } from '../Transaction.tsx';
import classes from './ReceiptSheet.module.css';
import { useTranslation } from '../../i18n.ts';

/** A receipt as it is shown and printed, on one page. */
export function ReceiptSheet({ receipt }: { receipt: Receipt }) {
  const { t } = useTranslation('receipt');
  const { number, seller, buyer, paid_at, issued_at, source, reference, transaction } = receipt;
  const rows: [name: string, value: ReactNode][] = [
    [t('paid'), <Utc key="paid" at={paid_at} />],
    [t('way'), t(`ways.${source}`)],
  ];
  if (transaction)
    rows.push(
      [t('network'), transaction.network],
      [t('common:transaction'), <Transaction key="hash" of={transaction} whole />],
    );
  if (reference) rows.push([t('reference'), reference]);
  rows.push(
    [t('deposit'), receipt.transfer_id],
    [t('issued'), <Utc key="issued" at={issued_at} />],
  );
  return (
    <Box maw={760}>
      <PageTitle title={t('title', { number })}>
        <Button
          className="no-print"
          leftSection={<IconPrinter size={18} />}
          onClick={() => window.print()}
        >
          {t('print')}
        </Button>
      </PageTitle>
      <Card withBorder padding="lg" className={classes.sheet} data-receipt={number}>
        <Stack gap="lg">
          <div className={classes.parties}>
            <Party name={t('from')} text={seller} />
            <Party name={t('to')} text={buyer} />
          </div>
          <Divider />
          <div>
            <Note>{t('amount')}</Note>
            <Text component="div" fz={28} fw={600}>
              <Usd micro={receipt.amount_usd_micro} digits="whole" /> USD
            </Text>
          </div>
          <Facts rows={rows} />
          <Divider />
          <Note>
            {t('prepaid')} {transaction && t('parity')}
          </Note>
        </Stack>
      </Card>
    </Box>
  );
}

function Party({ name, text }: { name: string; text: string }) {
  return (
    <div>
      <Note>{name}</Note>
      <Text component="div" size="sm" className={classes.lines}>
        {text}
      </Text>
    </div>
  );
}

/** A moment in UTC, so that each print says the same. */
function Utc({ at }: { at: string }) {
  const moment = useMoment({ dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return <time dateTime={at}>{moment(at)} UTC</time>;
}
