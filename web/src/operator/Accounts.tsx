import {
  Anchor,
  Button,
  CloseButton,
  Group,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks';
import { IconPlus, IconSearch, IconUsers } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DataList, type Column } from '../components/DataList.tsx';
import { Empty } from '../components/Empty.tsx';
import { Failure } from '../components/Failure.tsx';
import { More } from '../components/More.tsx';
import { PageTitle } from '../components/PageTitle.tsx';
import { Usd } from '../components/Usd.tsx';
import { When } from '../components/When.tsx';
import { usePages } from '../pages.ts';
import { AccountBadges } from './AccountBadges.tsx';
import './accounts-words.ts';
import { NewAccount } from './NewAccount.tsx';
import { offered, useAddress } from './search.ts';

export interface AccountRow {
  account_id: string;
  email: string;
  name: string | null;
  status: 'active' | 'suspended';
  is_operator: boolean;
  price_ppm: number;
  available_usd_micro: string;
  reserved_usd_micro: string;
  month_usd_micro: string;
  created_at: string;
}

export function Accounts() {
  const { t } = useTranslation('operator_accounts');
  const { t: common } = useTranslation('common');
  const [{ q, only }, setAddress] = useAddress();
  const [making, { open, close }] = useDisclosure(false);
  const found = usePages<AccountRow>(['operator', 'accounts'], '/api/operator/accounts', {
    q,
    only,
  });
  const isFiltered = Boolean(q) || Boolean(only);
  return (
    <>
      <PageTitle title={common('nav.accounts')} text={t('text')}>
        <Button leftSection={<IconPlus size={18} />} onClick={open}>
          {t('new')}
        </Button>
      </PageTitle>
      <Group mb="md" gap="sm" align="flex-end">
        <SearchField key="search" q={q ?? ''} onChange={(text) => setAddress({ q: text })} />
        <SegmentedControl
          aria-label={t('status')}
          value={only ?? 'all'}
          onChange={(value) => setAddress({ only: value === 'all' ? undefined : value })}
          data={['all', ...offered.accounts].map((value) => {
            return { value, label: t(value) };
          })}
          style={{ maxWidth: '100%' }}
        />
      </Group>
      {found.error ? (
        <Failure error={found.error} retry={found.retry} />
      ) : found.rows?.length === 0 ? (
        <Empty
          icon={<IconUsers />}
          title={t(isFiltered ? 'nothing_title' : 'none_title')}
          text={t(isFiltered ? 'nothing_text' : 'none_text')}
        />
      ) : (
        <AccountList rows={found.rows} />
      )}
      <More more={found.more} loading={found.isLoadingMore} />
      {making && <NewAccount onClose={close} />}
    </>
  );
}

function SearchField({ q, onChange }: { q: string; onChange: (text: string) => void }) {
  const { t } = useTranslation('operator_accounts');
  const { t: common } = useTranslation('common');
  const [typed, setTyped] = useState(q);
  const search = useDebouncedCallback(onChange, 200);
  const change = (text: string) => {
    setTyped(text);
    search(text.trim());
  };
  return (
    <TextInput
      type="search"
      aria-label={t('find')}
      placeholder={t('find_hint')}
      leftSection={<IconSearch size={18} />}
      rightSection={
        typed !== '' && (
          <CloseButton size="sm" aria-label={common('close')} onClick={() => change('')} />
        )
      }
      value={typed}
      onChange={(event) => change(event.currentTarget.value)}
      style={{ flex: '1 1 280px' }}
    />
  );
}

function AccountList({ rows }: { rows: AccountRow[] | undefined }) {
  const { t } = useTranslation('operator_accounts');
  const { t: common } = useTranslation('common');
  const columns: Column<AccountRow>[] = [
    {
      name: 'account',
      label: t('account'),
      cell: (row) => (
        <Stack gap={0}>
          <Anchor
            component={Link}
            to={`/operator/accounts/${row.account_id}`}
            fz="sm"
            fw={550}
            style={{ overflowWrap: 'anywhere' }}
          >
            {row.email}
          </Anchor>
          {row.name !== null && (
            <Text size="sm" c="dimmed" fw={400}>
              {row.name}
            </Text>
          )}
        </Stack>
      ),
    },
    { name: 'status', label: t('status'), cell: (row) => <AccountBadges account={row} /> },
    {
      name: 'available',
      label: common('available'),
      number: true,
      cell: (row) => <Usd micro={row.available_usd_micro} column />,
    },
    {
      name: 'reserved',
      label: common('reserved'),
      number: true,
      cell: (row) => <Usd micro={row.reserved_usd_micro} column />,
    },
    {
      name: 'month',
      label: t('month'),
      number: true,
      cell: (row) => <Usd micro={row.month_usd_micro} column />,
    },
    {
      name: 'made',
      label: t('made'),
      number: true,
      cell: (row) => <When at={row.created_at} brief />,
    },
  ];
  return (
    <DataList
      label={common('nav.accounts')}
      columns={columns}
      rows={rows}
      keyOf={(row) => row.account_id}
    />
  );
}
