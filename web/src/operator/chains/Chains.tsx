import { Box, Card, Skeleton, Stack, Text } from '@mantine/core';
import { IconLink } from '@tabler/icons-react';
import type { ChainSums } from '../../api-types.ts';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Dimmed, Dot, Heading, Note, RowName } from '../../components/styles.ts';
import { Usd } from '../../components/text.tsx';
import { useOperatorQuery } from '../../queries.ts';
import { liveQuery } from '../live.ts';
import { ChainCard } from './ChainCard.tsx';
import { useTranslation } from '../../i18n.ts';
import './chains-texts.ts';

/** How far each blockchain is read, and the money that came in on it. */
export function Chains() {
  const { t } = useTranslation('operator_chains');
  const { data, error, dataUpdatedAt, refetch } = useOperatorQuery('GET /chains', {}, liveQuery);
  return (
    <>
      <PageTitle title={t('common:nav.chains')} text={t('text')} />
      <Stack gap="md">
        {error && <Failure error={error} retry={() => void refetch()} since={dataUpdatedAt} />}
        {!data && !error && [1, 2].map((n) => <Skeleton key={n} h={170} />)}
        {data?.data.length === 0 && (
          <Empty icon={<IconLink />} title={t('none_title')} text={t('none_text')} />
        )}
        {data?.data.map((each) => (
          <ChainCard key={each.chain} chain={each} />
        ))}
        {data && data.data.length > 0 && <Sums />}
      </Stack>
    </>
  );
}

/** The credited deposits of each chain, beside the deposits from that chain in the ledger. */
function Sums() {
  const { t } = useTranslation('operator_chains');
  const { data, error, refetch } = useOperatorQuery('GET /chains/sums', {});
  const columns: Column<ChainSums>[] = [
    column.plain(t('chain'), ({ title, tokens }) => (
      <Stack gap={0}>
        <RowName>{title}</RowName>
        {tokens.map(({ token, deposits, amount_usd_micro }) => (
          <Note key={token} fw={400} className="wrap">
            {token}: <Usd micro={amount_usd_micro} />, {t('deposits', { count: deposits })}
          </Note>
        ))}
      </Stack>
    )),
    column.usd(t('on_chain'), (row) => row.amount_usd_micro),
    column.usd(t('in_ledger'), (row) => row.ledger_usd_micro),
    column.plain(t('compared'), (row) => <Compared sums={row} />),
  ];
  return (
    <Card withBorder padding="lg">
      <Heading mb={4}>{t('sums')}</Heading>
      <Dimmed mb="sm">{t('sums_text')}</Dimmed>
      {error && <Failure error={error} retry={() => void refetch()} />}
      {data?.data.length === 0 ? (
        <Text size="sm">{t('no_sums')}</Text>
      ) : (
        (data ?? !error) && (
          <DataList
            label={t('sums')}
            columns={columns}
            rows={data?.data}
            keyOf={(row) => row.chain}
          />
        )
      )}
    </Card>
  );
}

function Compared({ sums }: { sums: ChainSums }) {
  const { t } = useTranslation('operator_chains');
  if (!sums.differs) return <Dot color="fare">{t('equal')}</Dot>;
  const { deposits, ledger_deposits, amount_usd_micro, ledger_usd_micro } = sums;
  return (
    <Box>
      <Dot color="red">{t('differs')}</Dot>
      <Note>
        <Usd micro={BigInt(ledger_usd_micro) - BigInt(amount_usd_micro)} signed />,{' '}
        {t('counts', { chain: deposits, ledger: ledger_deposits })}
      </Note>
    </Box>
  );
}
