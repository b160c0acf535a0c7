import './deposit-texts.ts';
import {
  Alert,
  Anchor,
  Box,
  Button,
  Card,
  Group,
  NativeSelect,
  SimpleGrid,
  Stack,
  Text,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertTriangle, IconCoins, IconExternalLink } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { QRCodeSVG } from 'qrcode.react';
import { useState } from 'react';
import type { DepositAddressList, DepositList } from '../../api-types.ts';
import { Confirm } from '../../components/Confirm.tsx';
import { Copy } from '../../components/Copy.tsx';
import { Facts } from '../../components/Facts.tsx';
import { Failure, messageOf } from '../../components/Failure.tsx';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Dimmed, Dot, Heading, Note, RowButton } from '../../components/styles.ts';
import { Usd } from '../../components/text.tsx';
import { Transaction } from '../../components/Transaction.tsx';
import { formatUsd } from '../../money.ts';
import { useAccountQuery, useReload } from '../../queries.ts';
import { useAccountApi } from '../../session.tsx';
import { ReceiptLink } from './Paid.tsx';
import { useTranslation } from '../../i18n.ts';

type DepositAddress = DepositAddressList['data'][number];
type DepositRow = DepositList['data'][number];

/** Characters at each end of an address that people compare. */
const comparedChars = 6;

/** Where the account sends USDT, and what arrived. Nothing if no chain is set up. */
export function Deposit() {
  const { data, error, refetch } = useAccountQuery(
    'GET /v1/deposit-addresses',
    {},
    // The page has just asked, and shows this once it knows.
    { retryOnMount: false },
  );
  const deposits = useAccountQuery('GET /v1/deposits', { query: {} });
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  const addresses = data?.data ?? [];
  const rows = deposits.data?.data;
  if (addresses.length === 0 && !rows?.length) return null;
  return (
    <Stack gap="lg" mb="lg">
      {addresses.length > 0 && <Send addresses={addresses} />}
      <Deposits rows={rows} addresses={addresses} />
    </Stack>
  );
}

function Send({ addresses }: { addresses: DepositAddress[] }) {
  const { t } = useTranslation('deposit');
  const [chosen, setChosen] = useState('');
  const shown = addresses.find((each) => nameOf(each) === chosen) ?? addresses[0]!;
  return (
    <Card withBorder padding="lg">
      <Heading mb="md">{t('title')}</Heading>
      <NativeSelect
        label={t('network')}
        description={t('network_text')}
        mb="md"
        maw={420}
        value={nameOf(shown)}
        onChange={(event) => setChosen(event.currentTarget.value)}
        data={addresses.map(nameOf)}
      />
      <Address of={shown} />
      {shown.chain === 'play' && <Play />}
    </Card>
  );
}

function nameOf({ title, token }: DepositAddress): string {
  return `${title}, ${token.symbol}`;
}

function Address({ of }: { of: DepositAddress }) {
  const { t } = useTranslation('deposit');
  const { address, title: network, token, minimum_usd_micro, explorer_url } = of;
  const timing = useTiming();
  const label = t('address', { network });
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
      <Stack gap="sm">
        <Box p="sm" bg="white" w="fit-content" style={{ borderRadius: 8 }}>
          <QRCodeSVG value={address} size={168} title={t('qr')} />
        </Box>
        <div>
          <Note>{label}</Note>
          <Group gap={6} wrap="nowrap">
            <Text ff="monospace" className="wrap" data-address={address}>
              <b>{address.slice(0, comparedChars)}</b>
              {address.slice(comparedChars, -comparedChars)}
              <b>{address.slice(-comparedChars)}</b>
            </Text>
            <Copy text={address} what={label} />
          </Group>
          <Dimmed>{t('yours')}</Dimmed>
          <Group gap="sm" mt="xs">
            <Renew of={of} />
            {explorer_url !== null && (
              <Anchor href={explorer_url} target="_blank" rel="noreferrer" size="sm">
                {t('explorer')} <IconExternalLink size={14} />
              </Anchor>
            )}
          </Group>
        </div>
      </Stack>
      <Stack gap="sm">
        <Alert color="yellow" icon={<IconAlertTriangle />}>
          {t('warning', { token: token.symbol, network })}
        </Alert>
        <Facts
          rows={[
            [t('minimum'), `${formatUsd(minimum_usd_micro)} ${token.symbol}`],
            [t('credited'), timing(of)],
            [
              t('contract'),
              <Text key="contract" span size="xs" ff="monospace" className="wrap">
                {token.address}
              </Text>,
            ],
          ]}
        />
        <Note>{t('fees')}</Note>
      </Stack>
    </SimpleGrid>
  );
}

/** Gives the account another address. The present one stays valid. */
function Renew({ of: { chain, title: network } }: { of: DepositAddress }) {
  const { t } = useTranslation('deposit');
  const api = useAccountApi();
  const reload = useReload();
  const [isConfirming, { open, close }] = useDisclosure(false);
  const renew = async () => {
    await api('POST /deposit-addresses', { body: { chain } });
    await reload('GET /v1/deposit-addresses');
  };
  return (
    <>
      <RowButton onClick={open}>{t('renew')}</RowButton>
      <Confirm
        opened={isConfirming}
        title={t('renew_title', { network })}
        action={t('renew')}
        onConfirm={renew}
        onClose={close}
      >
        {t('renew_text')}
      </Confirm>
    </>
  );
}

/** When a deposit is credited, and how long that usually takes. */
function useTiming(): (of: DepositAddress) => string {
  const { t } = useTranslation('deposit');
  return ({ confirmations, usual_seconds: seconds }) => {
    const when =
      confirmations === null ? t('when_final') : t('after_blocks', { count: confirmations });
    if (seconds === null) return when;
    const isShort = seconds < 60;
    const usual = t(isShort ? 'about_seconds' : 'about_minutes', {
      count: isShort ? seconds : Math.ceil(seconds / 60),
    });
    return `${when}, ${usual}`;
  };
}

/** A button that sends test USDT to the account, in the trial. */
function Play() {
  const { t } = useTranslation('deposit');
  const api = useAccountApi();
  const reload = useReload();
  const pay = useMutation({
    mutationFn: () => api('POST /play-deposits', {}),
    onSuccess: () => reload(),
  });
  return (
    <Stack gap={6} mt="lg" align="flex-start">
      <Button
        leftSection={<IconCoins size={18} />}
        loading={pay.isPending}
        onClick={() => pay.mutate()}
      >
        {t('play')}
      </Button>
      <Note role={pay.error ? 'alert' : undefined}>
        {pay.error ? messageOf(pay.error) : t('play_text')}
      </Note>
    </Stack>
  );
}

const colors = {
  seen: 'blue',
  held: 'yellow',
  credited: 'green',
  ignored: 'gray',
  dropped: 'red',
} as const;

/** The newest deposits. The event stream keeps them up to date. */
function Deposits(props: { rows: DepositRow[] | undefined; addresses: DepositAddress[] }) {
  const { t } = useTranslation('deposit');
  const { rows, addresses } = props;
  const titles = new Map(addresses.map(({ chain, title }) => [chain, title]));
  const columns: Column<DepositRow>[] = [
    column.plain(t('amount'), ({ amount_usd_micro }) => <Usd micro={amount_usd_micro} />),
    column.plain(t('state'), (row) => <State of={row} />),
    column.plain(t('network'), ({ chain, token }) => `${titles.get(chain) ?? chain}, ${token}`),
    column.plain(t('common:transaction'), (row) => <Transaction of={row} />),
    column.when(t('when'), ({ credited_at, seen_at }) => credited_at ?? seen_at),
    column.plain(
      t('receipt:receipt'),
      ({ transfer_id }) => transfer_id !== null && <ReceiptLink id={transfer_id} />,
    ),
  ];
  return (
    <section>
      <Heading mb="md">{t('common:nav.deposits')}</Heading>
      {rows?.length === 0 ? (
        <Empty icon={<IconCoins />} title={t('none')} text={t('none_text')} />
      ) : (
        <DataList
          label={t('common:nav.deposits')}
          columns={columns}
          rows={rows}
          keyOf={(row) => row.deposit_id ?? `${row.tx_hash} ${row.log_position} ${row.state}`}
        />
      )}
    </section>
  );
}

function State({ of: { state, why, confirmations, required } }: { of: DepositRow }) {
  const { t } = useTranslation('deposit');
  const counts = state === 'seen' && required !== null;
  return (
    <>
      <Dot color={colors[state]} miw="max-content" data-deposit={state}>
        {counts ? t('seen_of', { confirmations, required }) : t(`states.${state}`)}
      </Dot>
      {why !== null && <Note>{t(`whys.${why}`)}</Note>}
    </>
  );
}
