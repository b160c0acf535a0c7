import { Box, Card, Stack, Tabs } from '@mantine/core';
import { useState } from 'react';
import { AccountLink, RequestsLink } from './links.tsx';
import { RowName, Heading, RowButton } from '../components/styles.ts';
import type { Revenue, RevenueSum, TopAccount } from '../api-types.ts';
import { type Column, column, DataList } from '../components/list/DataList.tsx';
import { firstMoment, sumColumns } from './figures.tsx';
import type { RequestSearch } from './requests/request-search.ts';
import { useModelNames } from '../requests/model-names.tsx';
import { useTranslation } from '../i18n.ts';
import './overview-texts.ts';

const parts = ['by_model', 'by_upstream', 'by_kind', 'by_account'] as const;
type Part = (typeof parts)[number];
type Row = RevenueSum & Partial<Pick<TopAccount, 'account_id' | 'email'>>;

const shownMax = 10;

/** Revenue by model, upstream, kind and account. */
export function Breakdown({ figures }: { figures: Revenue }) {
  const from = firstMoment(figures);
  const { t } = useTranslation('operator_overview');
  const rows: Record<(typeof parts)[number], Row[]> = {
    by_model: figures.by_model,
    by_upstream: figures.by_upstream,
    by_kind: figures.by_kind,
    by_account: figures.top_accounts,
  };
  return (
    <Card withBorder p="md">
      <Heading mb="sm">{t('where')}</Heading>
      <Tabs defaultValue="by_model" keepMounted={false}>
        <Tabs.List mb="sm" style={{ flexWrap: 'nowrap', overflowX: 'auto', overflowY: 'hidden' }}>
          {parts.map((part) => (
            <Tabs.Tab key={part} value={part} style={{ whiteSpace: 'nowrap' }}>
              {t(part)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {parts.map((part) => (
          <Tabs.Panel key={part} value={part}>
            <Sums part={part} rows={rows[part]} from={from} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Card>
  );
}

/** The filter that finds the requests of a row. */
function searchOf(part: Part, { name, account_id }: Row): RequestSearch {
  if (part === 'by_account') return { account: account_id };
  // The service names kinds by the same words.
  if (part === 'by_kind') return { kind: name as RequestSearch['kind'] };
  return part === 'by_model' ? { model: name } : { upstream: name };
}

function Sums({ part, rows, from }: { part: Part; rows: Row[]; from: string | undefined }) {
  const { t } = useTranslation('operator_overview');
  const [all, setAll] = useState(false);
  const most = rows.reduce((max, row) => Math.max(max, Number(row.charged_usd_micro)), 0);
  const columns: Column<Row>[] = [
    column.plain(t(`name.${part}`), (row) => <Name part={part} row={row} most={most} />),
    ...sumColumns<Row>(t, (row) => ({ ...searchOf(part, row), from })),
  ];
  return (
    <Stack gap="sm">
      <DataList
        label={t(part)}
        columns={columns}
        rows={all ? rows : rows.slice(0, shownMax)}
        keyOf={(row) => row.account_id ?? row.name}
      />
      {rows.length > shownMax && (
        <RowButton onClick={() => setAll(!all)} style={{ alignSelf: 'center' }}>
          {all ? t('fewer') : t('all', { n: rows.length })}
        </RowButton>
      )}
    </Stack>
  );
}

function Name({ part, row, most }: { part: Part; row: Row; most: number }) {
  const { t } = useTranslation('common');
  const nameOf = useModelNames();
  const { account_id, email = null } = row;
  const name =
    part === 'by_kind' ? t(`kind.${row.name}`) : part === 'by_model' ? nameOf(row.name) : row.name;
  // Refunds can exceed the charges of a period.
  const share = most === 0 ? 0 : (Math.max(0, Number(row.charged_usd_micro)) / most) * 100;
  return (
    <Box miw={140}>
      {account_id === undefined ? (
        <RowName className="wrap">
          <RequestsLink search={searchOf(part, row)}>{name}</RequestsLink>
        </RowName>
      ) : (
        <AccountLink
          of={{ account_id, account_name: name === email ? null : name, email }}
          fw={500}
        />
      )}
      <Box
        aria-hidden
        h={3}
        mt={3}
        bg="var(--c1)"
        style={{ width: `${share}%`, minWidth: 2, borderRadius: 2 }}
      />
    </Box>
  );
}
