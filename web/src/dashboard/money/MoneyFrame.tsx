import './money-texts.ts';
import { Box, Skeleton, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Note } from '../../components/styles.ts';
import { LinkTabs } from '../../components/frame/LinkTabs.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Usd } from '../../components/text.tsx';
import { useAccountQuery } from '../../queries.ts';
import { keysOf } from '../../records.ts';
import { useTranslation } from '../../i18n.ts';

const parts = {
  statement: '/dashboard/money',
  top_up: '/dashboard/money/top-up',
  alerts: '/dashboard/money/alerts',
} as const;

/** The frame of the three money pages, with tabs between them. */
export function MoneyFrame({ part, children }: { part: keyof typeof parts; children: ReactNode }) {
  const { t } = useTranslation('money');
  const { data } = useAccountQuery('GET /balance', {});
  const owed = data && data.debt_usd_micro !== '0' ? (['debt'] as const) : [];
  const title =
    part === 'statement' ? t('common:nav.money') : `${t('common:nav.money')}: ${t(`tabs.${part}`)}`;
  return (
    <>
      <PageTitle title={title}>
        {(['available', 'reserved', ...owed] as const).map((name) => (
          <Box key={name} miw={90}>
            <Note>{t(name === 'debt' ? 'kinds.debt' : `common:${name}`)}</Note>
            <Text component="div" fw={600} fz="lg">
              {data ? <Usd micro={data[`${name}_usd_micro`]} /> : <Skeleton h="1lh" />}
            </Text>
          </Box>
        ))}
      </PageTitle>
      <LinkTabs
        label={t('parts')}
        active={parts[part]}
        pages={keysOf(parts).map((name) => ({ to: parts[name], name: t(`tabs.${name}`) }))}
      />
      {children}
    </>
  );
}
