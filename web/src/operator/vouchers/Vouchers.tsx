import { Anchor, Button, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus, IconTicket } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Column, column } from '../../components/list/DataList.tsx';
import { Dimmed, RowName, RowButton, Dot } from '../../components/styles.ts';
import type { Voucher } from '../../api-types.ts';
import { FormModal } from '../../components/FormModal.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Usd, When } from '../../components/text.tsx';
import { useAction } from '../action.ts';
import { NewVouchers } from './NewVouchers.tsx';
import { useOperatorPages } from '../../queries.ts';
import { type PagedRows, PagedList } from '../../components/list/PagedList.tsx';
import './vouchers-texts.ts';
import { useRightProps } from '../rights.ts';
import { useTranslation } from '../../i18n.ts';

const colors = { open: 'fare', redeemed: 'blue', void: 'red', expired: 'gray' };

export function Vouchers() {
  const { t } = useTranslation('operator_vouchers');
  const actions = useRightProps();
  const [making, { open, close }] = useDisclosure(false);
  const [chosen, setChosen] = useState<Voucher | null>(null);
  const found = useOperatorPages('GET /vouchers', {});
  return (
    <>
      <PageTitle title={t('common:nav.vouchers')} text={t('text')}>
        <Button leftSection={<IconPlus size={18} />} onClick={open} {...actions('money')}>
          {t('new')}
        </Button>
      </PageTitle>
      <VoucherList of={found} onVoid={setChosen} />
      {making && <NewVouchers onClose={close} />}
      {chosen !== null && <VoidOne voucher={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

function VoucherList(props: { of: PagedRows<Voucher>; onVoid: (voucher: Voucher) => void }) {
  const { t } = useTranslation('operator_vouchers');
  const actions = useRightProps();
  const columns: Column<Voucher>[] = [
    column.plain(t('common:code'), (row) => (
      <Stack gap={0}>
        <RowName ff="monospace">…{row.last4}</RowName>
        {row.note !== null && (
          <Dimmed fw={400} className="wrap">
            {row.note}
          </Dimmed>
        )}
      </Stack>
    )),
    column.usd(t('worth'), (row) => row.amount_usd_micro),
    column.plain(t('state'), (row) => <State row={row} />),
    column.plain(t('by'), (row) => (
      <Text fz="sm" className="wrap">
        {row.created_by ?? t('command_line')}
      </Text>
    )),
    column.when(t('made'), (row) => row.created_at, true),
    column.actions(
      (row) =>
        row.status === 'open' && (
          <RowButton
            onClick={() => props.onVoid(row)}
            aria-label={`${t('void')}: …${row.last4}`}
            {...actions('money')}
          >
            {t('void')}
          </RowButton>
        ),
    ),
  ];
  return (
    <PagedList
      of={props.of}
      empty={{ icon: <IconTicket />, title: t('none_title'), text: t('none_text') }}
      label={t('common:nav.vouchers')}
      columns={columns}
      keyOf={(row) => row.voucher_id}
    />
  );
}

function State({ row }: { row: Voucher }) {
  const { t } = useTranslation('operator_vouchers');
  return (
    <Stack gap={2} align="flex-start">
      <Dot color={colors[row.status]}>{t(`status.${row.status}`)}</Dot>
      {row.redeemed_by !== null && (
        <Text fz="xs" c="dimmed" className="wrap">
          {t('redeemed_by')}{' '}
          <Anchor component={Link} to={`/operator/accounts/${row.redeemed_by}`} fz="xs">
            {row.redeemed_by_name}
          </Anchor>
        </Text>
      )}
      {row.status === 'open' && row.expires_at !== null && (
        <Text fz="xs" c="dimmed">
          {t('until')} <When at={row.expires_at} as="date" />
        </Text>
      )}
    </Stack>
  );
}

function VoidOne({ voucher, onClose }: { voucher: Voucher; onClose: () => void }) {
  const { t } = useTranslation('operator_vouchers');
  const act = useAction();
  const params = { voucher_id: voucher.voucher_id };
  return (
    <FormModal
      onClose={onClose}
      title={t('void_title')}
      submit={t('void')}
      danger
      onSubmit={() => act('POST /vouchers/:voucher_id/void', { params }, t('voided'))}
    >
      <Text fw={600}>
        …{voucher.last4} · <Usd micro={voucher.amount_usd_micro} />
      </Text>
      <Text size="sm">{t('void_text')}</Text>
    </FormModal>
  );
}
