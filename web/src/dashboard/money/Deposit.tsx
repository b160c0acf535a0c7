import './deposit-words.ts';
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
import { IconAlertTriangle, IconCoins, IconExternalLink } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { QRCodeSVG } from 'qrcode.react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DepositAddressList, DepositList } from '../../api-types.ts';
import { Copy } from '../../components/Copy.tsx';
import { Facts } from '../../components/Facts.tsx';
import { messageOf } from '../../components/Failure.tsx';
import { DataList, whenColumn, type Column } from '../../components/list/DataList.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Dimmed, Dot, Heading, Note } from '../../components/styles.ts';
import { Usd } from '../../components/text.tsx';
import { formatUsd } from '../../money.ts';
import { useAccountQuery, useReload } from '../../queries.ts';
import { useAccountApi } from '../../session.tsx';

type DepositAddress = DepositAddressList['data'][number];
type DepositRow = DepositList['data'][number];

const liveMs = 2_000;
/** Characters at each end of an address that people compare. */
const comparedChars = 6;

/** Where the account sends USDT, and what arrived. Nothing if no chain is set up. */
export function Deposit() {
  const { t } = useTranslation('deposit');
  const { data } = useAccountQuery('GET /v1/deposit-addresses', {});
  const [chosen, setChosen] = useState('');
  if (!data || data.data.length === 0) return null;
  const shown = data.data.find((each) => nameOf(each) === chosen) ?? data.data[0]!;
  return (
    <Stack gap="lg" mb="lg">
      <Card withBorder padding="lg">
        <Heading mb="md">{t('title')}</Heading>
        {data.data.length > 1 && (
          <NativeSelect
            label={t('network')}
            mb="md"
            maw={320}
            value={nameOf(shown)}
            onChange={(event) => setChosen(event.currentTarget.value)}
            data={data.data.map(nameOf)}
          />
        )}
        <Address of={shown} />
        {shown.chain === 'play' && <Play />}
      </Card>
      <Deposits />
    </Stack>
  );
}

function nameOf({ title, token }: DepositAddress): string {
  return `${title}, ${token.symbol}`;
}

function Address({ of }: { of: DepositAddress }) {
  const { t } = useTranslation('deposit');
  const { address, title: network, token, minimum_usd_micro, confirmations } = of;
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
        </div>
      </Stack>
      <Stack gap="sm">
        <Alert color="yellow" variant="light" icon={<IconAlertTriangle />}>
          {t('warning', { token: token.symbol, network })}
        </Alert>
        <Facts
          rows={[
            [t('minimum'), `${formatUsd(minimum_usd_micro)} ${token.symbol}`],
            [
              t('credited'),
              confirmations === null
                ? t('when_final')
                : t('after_blocks', { count: confirmations }),
            ],
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

/** Pays play money in the trial. */
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

function Deposits() {
  const { t } = useTranslation('deposit');
  const { data } = useAccountQuery('GET /v1/deposits', { query: {} }, { refetchInterval: liveMs });
  const columns: Column<DepositRow>[] = [
    {
      label: t('amount'),
      cell: ({ amount_usd_micro }) => <Usd micro={amount_usd_micro} />,
    },
    { label: t('state'), cell: (row) => <State of={row} /> },
    { label: t('network'), cell: ({ chain, token }) => `${chain}, ${token}` },
    { label: t('transaction'), cell: (row) => <Transaction of={row} /> },
    whenColumn(t('when'), ({ credited_at, seen_at }) => credited_at ?? seen_at),
  ];
  return (
    <section>
      <Heading mb="md">{t('list')}</Heading>
      {data?.data.length === 0 ? (
        <Empty icon={<IconCoins />} title={t('none')} text={t('none_text')} />
      ) : (
        <DataList
          label={t('list')}
          columns={columns}
          rows={data?.data}
          keyOf={({ tx_hash, log_position, state }) => `${tx_hash} ${log_position} ${state}`}
        />
      )}
    </section>
  );
}

function State({ of: { state, confirmations, required } }: { of: DepositRow }) {
  const { t } = useTranslation('deposit');
  const counts = state === 'seen' && required !== null;
  return (
    <Dot color={colors[state]} miw="max-content" data-deposit={state}>
      {counts ? t('seen_of', { confirmations, required }) : t(`states.${state}`)}
    </Dot>
  );
}

function Transaction({ of: { tx_hash, explorer_url } }: { of: DepositRow }) {
  const { t } = useTranslation('deposit');
  const short = `${tx_hash.slice(0, 10)}…${tx_hash.slice(-8)}`;
  return (
    <Group gap={4} wrap="nowrap">
      {explorer_url === null ? (
        <Text span size="sm" ff="monospace">
          {short}
        </Text>
      ) : (
        <Anchor
          href={explorer_url}
          target="_blank"
          rel="noreferrer"
          size="sm"
          ff="monospace"
          title={t('explorer')}
        >
          {short} <IconExternalLink size={14} />
        </Anchor>
      )}
      <Copy text={tx_hash} what={t('transaction')} />
    </Group>
  );
}
