import { Card, Group, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { call } from '../api.ts';
import { Failure } from '../components/Failure.tsx';
import { PageTitle } from '../components/PageTitle.tsx';
import { Usd } from '../components/Usd.tsx';
import { useAccount, useAccountPath } from '../session.tsx';

interface Balance {
  available_usd_micro: string;
  reserved_usd_micro: string;
}

export function Overview() {
  const { t } = useTranslation('common');
  const { account_id } = useAccount();
  const path = useAccountPath();
  const balance = useQuery({
    queryKey: ['account', account_id, 'balance'],
    queryFn: () => call<Balance>(path('/balance')),
  });
  return (
    <>
      <PageTitle title={t('nav.overview')} />
      {balance.error && <Failure error={balance.error} retry={() => void balance.refetch()} />}
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {(['available', 'reserved'] as const).map((name) => (
          <Card key={name} withBorder>
            <Text c="dimmed" size="sm">
              {t(name)}
            </Text>
            <Group fz={28} fw={650}>
              {balance.data ? (
                <Usd micro={balance.data[`${name}_usd_micro`]} />
              ) : (
                <Skeleton h={36} w={140} />
              )}
            </Group>
          </Card>
        ))}
      </SimpleGrid>
    </>
  );
}
