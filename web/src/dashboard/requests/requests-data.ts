import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { KeyName } from '../../api-types.ts';
import { useAccount, useAccountApi } from '../../session.tsx';
import { modelsQuery } from '../../studio/models.ts';
import type { Choices } from './RequestFilters.tsx';
import { liveKey } from './live-key.ts';
import { queryOf, refusalQuery, type Search } from './request-entries.ts';
import { previous, useAccountPages, useAccountQuery } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';
import './requests-texts.ts';

/** A page of the list, updated live. The previous one stays until this one is loaded. */
export function usePage(search: Search) {
  const { account_id } = useAccount();
  const api = useAccountApi();
  return useQuery({
    queryKey: liveKey(account_id, search),
    queryFn: ({ signal }) => api('GET /requests', { query: queryOf(search), signal }),
    placeholderData: keepPreviousData,
    enabled: search.status !== 'REFUSED',
  });
}

/** How often refused calls are loaded again: they come without an event. */
const lookMs = 10_000;

/** Refused calls, as far as the user has loaded them. */
export function useRefusals(search: Search) {
  const options = { ...previous, everyMs: lookMs };
  return useAccountPages('GET /v1/refusals', { query: refusalQuery(search) }, options);
}

/** The account's keys by id; undefined while loading. */
export function useKeyNames(): Map<string, KeyName> | undefined {
  const { data } = useAccountQuery('GET /requests/choices', {}, { staleTime: 60_000 });
  return data && new Map(data.keys.map((key) => [key.key_id, key]));
}

/** The names of the account's people by id; undefined while loading. */
export function usePeopleNames(): Map<string, string> | undefined {
  const { data } = useAccountQuery('GET /requests/choices', {}, { staleTime: 60_000 });
  return data && new Map(data.people.map((one) => [one.person_id, one.name || one.email]));
}

/** The name and the end of a key, as a request's page shows them; undefined while loading. */
export function useKeyName(key_id: string): string | undefined {
  const { t } = useTranslation('requests');
  const keys = useKeyNames();
  const key = keys?.get(key_id);
  return keys && (key ? `${key.name} …${key.last4}` : t('unknown_key'));
}

export function useChoices(): Choices {
  const { t } = useTranslation('requests');
  const keys = useKeyNames();
  const people = usePeopleNames();
  const models = useQuery(modelsQuery);
  return {
    keys: [...(keys?.values() ?? [])].map(({ key_id, name, last4, revoked }) => ({
      value: key_id,
      label: `${name} …${last4}${revoked ? ` (${t('revoked')})` : ''}`,
    })),
    people: [...(people ?? [])].map(([value, label]) => ({ value, label })),
    models: (models.data ?? []).map(({ id, name }) => ({ value: id, label: `${name} · ${id}` })),
  };
}
