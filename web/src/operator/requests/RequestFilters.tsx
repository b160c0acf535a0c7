import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import type { AnyRequest } from '../../api-types.ts';
import type { FilterChoice } from '../../components/list/FilterBar.tsx';
import {
  FilterBox,
  type NamedValue,
  offeredOf,
  QuickChoices,
  useDayChoices,
} from '../../components/list/filter-parts.tsx';
import { useMoment } from '../../components/text.tsx';
import { dateOf, dayOfDate } from '../../components/date/days.ts';
import { previous, useOperatorQuery } from '../../queries.ts';
import { kinds } from '../../studio/form/gallery-filter.ts';
import { offered } from '../search.ts';
import { callIdForm, idForm, type RequestSearch } from './request-search.ts';
import { useTranslation } from '../../i18n.ts';
import '../../requests/request-texts.ts';
import './requests-texts.ts';

export type Change = { [Name in keyof RequestSearch]?: string | undefined };

/** Chosen by one press; the others are among the choices of the box. */
const quickStates = new Set(['IN_QUEUE', 'IN_PROGRESS', 'FAILED']);
const chipNames = [
  'call_id',
  'account',
  'status',
  'error',
  'kind',
  'model',
  'upstream',
  'key',
] as const;

/** The filters of the list: one box, and the states that are asked for most. */
export function RequestFilters(props: {
  search: RequestSearch;
  onChange: (change: Change) => void;
  /** Whether the list is of one account. */
  ofAccount: boolean;
  rows: AnyRequest[] | undefined;
}) {
  const { search, onChange, ofAccount, rows } = props;
  const { t } = useTranslation('operator_requests');
  const [typed, setTyped] = useState('');
  const [asked] = useDebouncedValue(typed, 200);
  const choices = useChoices(ofAccount, asked);
  const chips = useChips(search, choices, ofAccount, rows);
  const days = useDayChoices();
  const typedOf = (name: 'key' | 'call_id', form: RegExp, text: string): FilterChoice[] =>
    form.test(text) ? [{ name, value: text, label: text, group: t(name) }] : [];
  const listOf = (name: keyof typeof choices, group: string) =>
    choices[name].map((each) => ({ ...each, name, group }));
  return (
    <>
      <FilterBox
        label={t('find')}
        hint={t('find_hint')}
        chips={chips}
        choicesFor={(text) => [
          ...offeredOf(
            [
              listOf('status', t('status')),
              days,
              listOf('error', t('error')),
              listOf('kind', t('kind')),
              listOf('account', t('common:account')),
              listOf('model', t('common:model')),
              listOf('upstream', t('common:upstream')),
            ],
            text,
          ),
          ...typedOf('call_id', callIdForm, text),
          ...typedOf('key', idForm, text),
        ]}
        onType={setTyped}
        from={localDay(search.from)}
        to={localDay(search.to)}
        onChange={onChange}
      />
      <QuickChoices
        label={t('status')}
        value={search.status}
        choices={choices.status.filter(({ value }) => quickStates.has(value))}
        onChange={(status) => onChange({ status })}
      />
    </>
  );
}

/** The local day of a moment, or the day itself. */
function localDay(at: string | undefined): string | undefined {
  return at?.includes('T') ? dayOfDate(new Date(at)) : at;
}

/** The offered values. The service finds accounts by what is typed. */
function useChoices(ofAccount: boolean, typed: string) {
  const { t } = useTranslation('operator_requests');
  const models = useOperatorQuery('GET /models', {}, previous);
  const upstreams = useOperatorQuery('GET /upstreams', {}, previous);
  const accounts = useOperatorQuery(
    'GET /accounts',
    { query: { q: typed } },
    { ...previous, enabled: !ofAccount },
  );
  const named = (values: readonly string[], words: string): NamedValue[] =>
    values.map((value) => ({ value, label: t(`${words}.${value}`) }));
  const plain = (values: string[] = []): NamedValue[] =>
    values.toSorted().map((value) => ({ value, label: value }));
  return {
    status: named(offered.statuses, 'common:status'),
    error: named(offered.errors, 'request:error_code'),
    kind: named(kinds, 'common:kind'),
    account: (accounts.data?.data ?? []).map((row) => ({
      value: row.account_id,
      label: row.name === null ? row.email : `${row.name} · ${row.email}`,
    })),
    model: (models.data?.data ?? []).map(({ id, name }) => ({
      value: id,
      label: name ? `${name} · ${id}` : id,
    })),
    upstream: plain(upstreams.data?.data.map(({ name }) => name)),
  };
}

/** The chosen filters in words. */
function useChips(
  search: RequestSearch,
  choices: { [name in string]?: NamedValue[] },
  ofAccount: boolean,
  rows: AnyRequest[] | undefined,
) {
  const { t } = useTranslation('operator_requests');
  const moment = useMoment();
  const date = useMoment({ dateStyle: 'medium' });
  const named = rows?.find((row) => row.account_id === search.account);
  const shown = (name: (typeof chipNames)[number], value: string) =>
    choices[name]?.find((each) => each.value === value)?.label ??
    (name === 'account' ? (named?.account_name ?? named?.email) : undefined) ??
    value;
  const day = (at: string | undefined) => {
    if (at === undefined) return '…';
    return at.includes('T') ? moment(at) : date(dateOf(at).getTime());
  };
  const labelOf = (name: string) =>
    t(['account', 'model', 'upstream'].includes(name) ? `common:${name}` : name);
  const { from, to } = search;
  return [
    ...chipNames.flatMap((name) => {
      const value = search[name];
      if (value === undefined || (name === 'account' && ofAccount)) return [];
      return [{ name, text: `${labelOf(name)}: ${shown(name, value)}` }];
    }),
    ...(from || to ? [{ name: 'days', text: `${day(from)} – ${day(to)}` }] : []),
  ];
}
