import { Anchor, Button, Group, SegmentedControl, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus, IconUsers } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { RowLink } from '../links.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';
import { Dimmed, Note } from '../../components/styles.ts';
import type { FoundAccount } from '../../api-types.ts';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { SearchField } from '../../components/list/SearchField.tsx';
import { AccountBadges } from './AccountBadges.tsx';
import './accounts-texts.ts';
import { NewAccount } from './NewAccount.tsx';
import { useAddress, offered } from '../search.ts';
import { useOperatorPages } from '../../queries.ts';
import { type PagedRows, PagedList } from '../../components/list/PagedList.tsx';
import { useRightProps } from '../rights.ts';
import { useTranslation } from '../../i18n.ts';

export function Accounts() {
  const { t } = useTranslation('operator_accounts');
  const actions = useRightProps();
  const [{ q, only }, setAddress] = useAddress('/operator/accounts');
  const [making, { open, close }] = useDisclosure(false);
  const [begun, setBegun] = useState('');
  const wanted = begun || q;
  const found = useOperatorPages('GET /accounts', { query: { q: wanted, only } });
  const isFiltered = Boolean(wanted) || Boolean(only);
  const find = (text: string) => {
    const shown = withoutSecret(text);
    setBegun(isBegunSecret(shown) ? shown : '');
    setAddress({ q: isBegunSecret(shown) ? undefined : shown });
  };
  return (
    <>
      <PageTitle title={t('common:nav.accounts')} text={t('text')}>
        <Button leftSection={<IconPlus size={18} />} onClick={open} {...actions('accounts')}>
          {t('new')}
        </Button>
      </PageTitle>
      <Group mb="md" gap="sm" align="flex-end">
        <SearchField
          key="search"
          label={t('find')}
          hint={t('find_hint')}
          text={q ?? ''}
          onChange={find}
        />
        <SegmentedControl
          aria-label={t('status')}
          value={only ?? 'all'}
          onChange={(value) => setAddress({ only: value === 'all' ? undefined : value })}
          data={['all', ...offered.accounts].map((value) => ({ value, label: t(value) }))}
          style={{ maxWidth: '100%' }}
        />
      </Group>
      <AccountList of={found} isFiltered={isFiltered} />
      {making && <NewAccount onClose={close} />}
    </>
  );
}

/**
 * Shortens a pasted key or code to the part that is not secret, because the text goes into the
 * page's address.
 */
function withoutSecret(text: string): string {
  const code = text.toUpperCase().replaceAll(/[\s\p{Pd}]/gu, '');
  if (/^FB[0-9A-Z]{20}$/.test(code)) return `FB-…${code.slice(-4)}`;
  if (/^fbx_\w{38}$/.test(text)) return `${text.slice(0, 6)}…${text.slice(-4)}`;
  return /^fbx_\w{3,}$/.test(text) ? text.slice(0, 6) : text;
}

/** Whether the text may be the beginning of a key or code. */
function isBegunSecret(text: string): boolean {
  return !text.includes('…') && /^fb(?:x_|[\s\p{Pd}]|[0-9a-z]*\d)/iu.test(text);
}

function AccountList({ of, isFiltered }: { of: PagedRows<FoundAccount>; isFiltered: boolean }) {
  const { t } = useTranslation('operator_accounts');
  const columns: Column<FoundAccount>[] = [
    column.plain(t('common:account'), (row) => (
      <Stack gap={0}>
        <Group gap="0 8px">
          <RowLink to={`/operator/accounts/${row.account_id}`}>{row.name ?? row.email}</RowLink>
          {row.name !== null && <Dimmed fw={400}>{row.email}</Dimmed>}
        </Group>
        {row.matched
          .filter(({ by }) => by !== 'account')
          .map(({ by, said }) => (
            <Note key={`${by} ${said}`} fw={400}>
              {by === 'request' ? (
                <Anchor
                  component={Link}
                  to={`/operator/requests/${said}`}
                  inherit
                  display="inline-block"
                  lh="24px"
                >
                  {t('by.request')}
                </Anchor>
              ) : (
                t(`by.${by}`) + (said === null ? '' : `: ${said}`)
              )}
            </Note>
          ))}
      </Stack>
    )),
    column.plain(t('status'), (row) => <AccountBadges account={row} />),
    column.usd(t('common:available'), (row) => row.available_usd_micro),
    column.usd(t('common:reserved'), (row) => row.reserved_usd_micro),
    column.usd(t('month'), (row) => row.month_usd_micro),
    column.when(t('made'), (row) => row.created_at, true),
  ];
  return (
    <PagedList
      of={of}
      empty={{
        icon: <IconUsers />,
        title: t(isFiltered ? 'nothing_title' : 'none_title'),
        text: t(isFiltered ? 'nothing_text' : 'none_text'),
      }}
      label={t('common:nav.accounts')}
      columns={columns}
      keyOf={(row) => row.account_id}
    />
  );
}
