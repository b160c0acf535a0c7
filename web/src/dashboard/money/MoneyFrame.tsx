import { Button, Group, Skeleton, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import './money-texts.ts';
import type { ReactNode } from 'react';
import { Note } from '../../components/styles.ts';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Usd } from '../../components/text.tsx';
import { useAccountQuery } from '../../queries.ts';
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
  const title =
    part === 'statement' ? t('common:nav.money') : `${t('common:nav.money')}: ${t(`tabs.${part}`)}`;
  return (
    <>
      <PageTitle title={title}>
        {(['available', 'reserved'] as const).map((name) => (
          <div key={name}>
            <Note>{t(`common:${name}`)}</Note>
            <Text component="div" fw={600} fz="lg">
              {data ? <Usd micro={data[`${name}_usd_micro`]} /> : <Skeleton h={26} w={90} />}
            </Text>
          </div>
        ))}
      </PageTitle>
      <Group component="nav" aria-label={t('parts')} gap={4} mb="lg">
        {Object.entries(parts).map(([name, to]) => (
          <Button
            key={name}
            component={Link}
            to={to}
            size="sm"
            px={{ base: 10, xs: 18 }}
            variant={name === part ? 'light' : 'subtle'}
            color={name === part ? 'fare' : 'gray'}
            aria-current={name === part ? 'page' : undefined}
          >
            {t(`tabs.${name}`)}
          </Button>
        ))}
      </Group>
      {children}
    </>
  );
}
