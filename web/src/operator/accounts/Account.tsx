import { Button, Group, Menu, SimpleGrid, Skeleton, Stack, Tabs, Text } from '@mantine/core';
import { IconCoins, IconDots } from '@tabler/icons-react';

import { useState } from 'react';
import { usePathPart } from '../../address.ts';
import { Dimmed, PlainButton } from '../../components/styles.ts';
import type { OperatorAccount } from '../../api-types.ts';
import { Copy } from '../../components/Copy.tsx';
import { ApiFailure } from '../../api.ts';
import { NothingHere } from '../../components/frame/NotFound.tsx';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Stat } from '../../components/Stat.tsx';
import { Usd, When } from '../../components/text.tsx';
import { AccountBadges } from './AccountBadges.tsx';
import { accountActions, rightFor, type Action } from './account-actions.ts';
import { AccountDialog } from './AccountDialog.tsx';
import { AccountKeys } from './AccountKeys.tsx';
import { AccountPeople } from './AccountPeople.tsx';
import { AccountStatement } from './AccountStatement.tsx';
import './account-texts.ts';
import { LogList } from '../LogList.tsx';
import { RequestList } from '../requests/RequestList.tsx';
import { SourceSums } from '../SourceSums.tsx';
import { briefUsd } from '../../money.ts';
import { offered, useAddress } from '../search.ts';
import { useRightProps } from '../rights.ts';
import { useOperatorQuery } from '../../queries.ts';
import { useMe } from '../../session.tsx';
import { useTranslation } from '../../i18n.ts';

export function Account() {
  const { t } = useTranslation('operator_account');
  const account_id = usePathPart('account_id');
  const [{ tab = 'keys', ...search }, setAddress] = useAddress('/operator/accounts/$account_id');
  const found = useOperatorQuery('GET /accounts/:account_id', { params: { account_id } });
  const { data: account, error } = found;
  if (error instanceof ApiFailure && error.status === 404) return <NothingHere error={error} />;
  if (error || !account) {
    return (
      <>
        <PageTitle title={t('common:account')} />
        {error ? (
          <Failure error={error} retry={() => void found.refetch()} />
        ) : (
          <>
            <Skeleton h={88} mb="lg" />
            <Skeleton h={320} />
          </>
        )}
      </>
    );
  }
  return (
    <>
      <PageTitle title={account.email}>
        <Actions account={account} />
      </PageTitle>
      <Group gap="md" mb="md" mt={-8}>
        <AccountBadges account={account} />
        {account.name !== null && <Text size="sm">{account.name}</Text>}
        <Group gap={4} wrap="nowrap">
          <Dimmed ff="monospace" className="wrap">
            {account_id}
          </Dimmed>
          <Copy text={account_id} what={t('id')} />
        </Group>
      </Group>
      <SimpleGrid cols={{ base: 2, xs: 3 }} mb="lg" spacing="sm">
        <Stat
          label={t('common:available')}
          note={
            account.debt_usd_micro !== '0'
              ? t('debt', { amount: briefUsd(account.debt_usd_micro) })
              : undefined
          }
        >
          <Usd micro={account.available_usd_micro} />
        </Stat>
        <Stat label={t('common:reserved')}>
          <Usd micro={account.reserved_usd_micro} />
        </Stat>
        <Stat label={t('month')}>
          <Usd micro={account.month_usd_micro} />
        </Stat>
      </SimpleGrid>
      <Tabs
        value={tab}
        onChange={(value) =>
          setAddress({ tab: value === 'keys' ? undefined : (value ?? undefined) })
        }
        keepMounted={false}
      >
        <Tabs.List mb="md" style={{ flexWrap: 'nowrap', overflowX: 'auto', overflowY: 'hidden' }}>
          {offered.tabs.map((name) => (
            <Tabs.Tab key={name} value={name} style={{ whiteSpace: 'nowrap' }}>
              {t(`tabs.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="keys">
          <Stack gap="xl">
            <AccountPeople account_id={account_id} account={account} />
            <AccountKeys account_id={account_id} account={account} />
            <Dimmed>
              {t('made_at')} <When at={account.created_at} />
            </Dimmed>
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="requests">
          <RequestList search={search} onChange={setAddress} account_id={account_id} />
        </Tabs.Panel>
        <Tabs.Panel value="statement">
          <Stack gap="md">
            <SourceSums label={t('deposits')} sums={account.deposits} />
            <AccountStatement account_id={account_id} />
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="log">
          <LogList query={{ account_id }} ofAccount />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

function Actions({ account }: { account: OperatorAccount }) {
  const { t } = useTranslation('operator_account');
  const [action, setAction] = useState<Action | null>(null);
  const me = useMe();
  const actions = useRightProps();
  const exporting = actions(account.is_operator ? 'own' : 'accounts');
  const isActive = account.status === 'active';
  const isOwn = account.people.some(
    ({ person_id, role }) => person_id === me?.person_id && role === 'owner',
  );
  const item = (name: Action, danger = false, disabled = false) => (
    <Menu.Item
      key={name}
      onClick={() => setAction(name)}
      disabled={disabled}
      {...(danger && { c: 'var(--bad)' })}
      {...actions(rightFor(name, account))}
    >
      {t(accountActions[name].label)}
    </Menu.Item>
  );
  return (
    <>
      <Button
        leftSection={<IconCoins size={18} />}
        onClick={() => setAction('credit')}
        {...actions('money')}
      >
        {t('credit')}
      </Button>
      <Menu position="bottom-end" width={260}>
        <Menu.Target>
          <PlainButton aria-label={t('more')} px="sm">
            <IconDots size={18} />
          </PlainButton>
        </Menu.Target>
        <Menu.Dropdown>
          {item('correct')}
          {item('price')}
          {item('invite')}
          <Menu.Item
            component="a"
            href={
              exporting.disabled ? undefined : `/api/operator/accounts/${account.account_id}/export`
            }
            download={`farebox-${account.account_id}.ndjson`}
            {...exporting}
          >
            {t('export')}
          </Menu.Item>
          <Menu.Divider />
          {item(account.keys_by_api ? 'stop_keys' : 'allow_keys')}
          {account.is_operator ? item('unoperator', false, isOwn) : item('operator')}
          {isActive ? item('suspend', true, isOwn && account.is_operator) : item('resume')}
          {isOwn && account.is_operator && <Menu.Label>{t('own')}</Menu.Label>}
        </Menu.Dropdown>
      </Menu>
      {action !== null && (
        <AccountDialog action={action} account={account} onClose={() => setAction(null)} />
      )}
    </>
  );
}
