import { Code, Stack, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { type Column, column } from '../components/list/DataList.tsx';
import { RowName } from '../components/styles.ts';
import type { OperatorCalls } from '../api.ts';
import type { LogEntry } from '../api-types.ts';
import { Usd, When } from '../components/text.tsx';
import { useOperatorPages } from '../queries.ts';
import { PagedList } from '../components/list/PagedList.tsx';
import { AccountLink } from './links.tsx';
import { useTranslation } from '../i18n.ts';
import type { Translate } from '../texts/format.ts';
import './log-texts.ts';

type Query = OperatorCalls['GET /log']['query'];

export function useLog(query: Query) {
  return useOperatorPages('GET /log', { query });
}

/**
 * The log of operator actions. `ofAccount`: the log of one account, which is then not named in each
 * row.
 */
export function LogList(props: { query: Query; ofAccount?: boolean }) {
  const { t } = useTranslation('operator_log');
  const found = useLog(props.query);
  const columns: Column<LogEntry>[] = [
    column.plain(t('did'), (row) => <RowName>{actionName(t, row.action)}</RowName>),
    column.plain(t('to'), (row) => to(row, props.ofAccount)),
    column.plain(t('common:facts'), (row) => row.details && <Details row={row} />),
    column.plain(t('by'), (row) => (
      <Text fz="sm" style={{ overflowWrap: 'break-word' }}>
        {row.by_email}
      </Text>
    )),
    column.when(t('time'), (row) => row.created_at),
  ];
  return (
    <PagedList
      of={found}
      empty={{ icon: <IconHistory />, title: t('none_title'), text: t('none_text') }}
      label={t('common:nav.log')}
      columns={columns}
      keyOf={(row) => row.log_id}
    />
  );
}

/**
 * The text for an action. Its name contains a dot, which separates translation keys; without a text
 * the name is shown.
 */
export function actionName(t: Translate, action: string): string {
  return t(`action.${action.replace('.', '_')}`, { defaultValue: action });
}

/** Null if there is no target besides an account that the reader already knows. */
function to(row: LogEntry, isKnown = false) {
  const { account_id, account_name, account_email: email, target } = row;
  const other = target !== null && target !== email ? target : null;
  if (isKnown || account_id === null) {
    return other === null ? null : (
      <Text fz="sm" style={{ overflowWrap: 'break-word' }}>
        {other}
      </Text>
    );
  }
  return (
    <Stack gap={0}>
      <AccountLink of={{ account_id, account_name, email }} />
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

/** Amounts are formatted, and other fields put into words if possible. */
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

/** An object contains previous values: each is shown with its name. */
function Value({ name, value }: { name: string; value: unknown }): ReactNode {
  const { t } = useTranslation('operator_log');
  if (name.endsWith('_usd_micro') && typeof value === 'string') return <Usd micro={value} />;
  if (name === 'price_ppm' && typeof value === 'number') return `× ${value / 1e6}`;
  if (name.endsWith('_at') && typeof value === 'string') return <When at={value} as="date" />;
  if (name === 'source') return t(`common:source.${String(value)}`);
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
