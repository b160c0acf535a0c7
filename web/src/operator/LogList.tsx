import { Anchor, Code, Stack, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { TFunction } from 'i18next';
import { RowName } from '../components/styles.ts';
import type { OperatorCalls } from '../api.ts';
import type { LogEntry } from '../api-types.ts';
import { DataList, type Column } from '../components/DataList.tsx';
import { Empty } from '../components/Empty.tsx';
import { Failure } from '../components/Failure.tsx';
import { More } from '../components/More.tsx';
import { Usd } from '../components/text/Usd.tsx';
import { When } from '../components/text/When.tsx';
import { usePages } from '../pages.ts';
import './log-words.ts';

type Query = OperatorCalls['GET /log']['query'];

export function useLog(query: Query) {
  return usePages('GET /log', { query });
}

/** The log of operator actions. `ofAccount`: of one account, which is not named in each row. */
export function LogList(props: { query: Query; ofAccount?: boolean }) {
  const { t } = useTranslation('operator_log');
  const found = useLog(props.query);
  const columns: Column<LogEntry>[] = [
    {
      name: 'did',
      label: t('did'),
      cell: (row) => <RowName>{actionName(t, row.action)}</RowName>,
    },
    { name: 'to', label: t('to'), cell: (row) => to(row, props.ofAccount) },
    { name: 'details', label: t('details'), cell: (row) => row.details && <Details row={row} /> },
    {
      name: 'by',
      label: t('by'),
      cell: (row) => (
        <Text fz="sm" style={{ overflowWrap: 'break-word' }}>
          {row.by_email}
        </Text>
      ),
    },
    { name: 'time', label: t('time'), number: true, cell: (row) => <When at={row.created_at} /> },
  ];
  if (found.error) return <Failure error={found.error} retry={found.retry} />;
  if (found.rows?.length === 0)
    return <Empty icon={<IconHistory />} title={t('none_title')} text={t('none_text')} />;
  return (
    <>
      <DataList
        label={t('common:nav.log')}
        columns={columns}
        rows={found.rows}
        keyOf={(row) => row.log_id}
      />
      <More more={found.more} loading={found.isLoadingMore} />
    </>
  );
}

/**
 * An action name contains a dot, which separates translation keys; without a text it is shown as it
 * is.
 */
export function actionName(t: TFunction<'operator_log'>, action: string): string {
  return t(`action.${action.replace('.', '_')}`, { defaultValue: action });
}

/** Null where the account is the only target, and is known. */
function to(row: LogEntry, isKnown = false) {
  const { account_id, account_email, target } = row;
  const other = target !== null && target !== account_email ? target : null;
  if (isKnown || account_id === null) {
    return other === null ? null : (
      <Text fz="sm" style={{ overflowWrap: 'break-word' }}>
        {other}
      </Text>
    );
  }
  return (
    <Stack gap={0}>
      <Anchor
        component={Link}
        to={`/operator/accounts/${account_id}`}
        fz="sm"
        style={{ overflowWrap: 'break-word' }}
      >
        {account_email ?? account_id}
      </Anchor>
      {other !== null && (
        <Text fz="sm" c="dimmed" style={{ overflowWrap: 'break-word' }}>
          {other}
        </Text>
      )}
    </Stack>
  );
}

const quiet = new Set(['transfer_id', 'replayed', 'first_id', 'key_id']);
const isNothing = (value: unknown) =>
  value === null || (Array.isArray(value) && value.length === 0);

/** Amounts formatted, and other fields in words where there are some. */
function Details({ row }: { row: LogEntry }) {
  const { t } = useTranslation('operator_log');
  const entries = Object.entries(row.details ?? {}).filter(
    ([name, value]) => !isNothing(value) && !quiet.has(name),
  );
  return (
    <Stack gap={0}>
      {row.details?.replayed === true && <RowName>{t('replayed')}</RowName>}
      {entries.map(([name, value]) => (
        <Text key={name} fz="sm" className="wrap">
          {name === 'amount_usd_micro' ? (
            <Usd micro={String(value)} signed={row.action.startsWith('account.')} />
          ) : (
            <>
              <Text span c="dimmed" fz="sm">
                {t(`detail.${name}`, { defaultValue: name })}
              </Text>{' '}
              <Value name={name} value={value} />
            </>
          )}
        </Text>
      ))}
    </Stack>
  );
}

/** An object holds the previous values: each is shown with its name. */
function Value({ name, value }: { name: string; value: unknown }): ReactNode {
  const { t } = useTranslation('operator_log');
  if (name.endsWith('_usd_micro') && typeof value === 'string') return <Usd micro={value} />;
  if (name === 'price_ppm' && typeof value === 'number') return `× ${value / 1e6}`;
  if (name.endsWith('_at') && typeof value === 'string') return <When at={value} brief />;
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no');
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return <Code>{value.join(', ')}</Code>;
  return Object.entries(value)
    .filter(([, each]) => each !== null)
    .map(([each, said], i) => (
      <span key={each}>
        {i > 0 && ', '}
        {t(`detail.${each}`, { defaultValue: each })} <Value name={each} value={said} />
      </span>
    ));
}
