import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { KeyName } from '../../api-types.ts';
import { useAccount, useAccountApi } from '../../session.tsx';
import { modelsQuery } from '../../studio/models.ts';
import type { Choices } from './RequestFilters.tsx';
import { queryOf, type Search } from './request-entries.ts';
import { useAccountQuery } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';
import './requests-texts.ts';

/** A page of the list. The previous one stays until this one is loaded. */
export function usePage(search: Search) {
  const { account_id } = useAccount();
  const api = useAccountApi();
  return useQuery({
    // Contains the search as in the address: live changes are matched against it.
    queryKey: ['account', account_id, 'GET /requests', search],
    queryFn: ({ signal }) => api('GET /requests', { query: queryOf(search), signal }),
    placeholderData: keepPreviousData,
  });
}

/** The account's keys by id; undefined while loading. */
export function useKeyNames(): Map<string, KeyName> | undefined {
  const { data } = useAccountQuery('GET /requests/choices', {}, { staleTime: 60_000 });
  return data && new Map(data.keys.map((key) => [key.key_id, key]));
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
  const models = useQuery(modelsQuery);
  return {
    keys: [...(keys?.values() ?? [])].map(({ key_id, name, last4, revoked }) => ({
      value: key_id,
      label: `${name} …${last4}${revoked ? ` (${t('revoked')})` : ''}`,
    })),
    models: (models.data ?? []).map(({ id }) => id).toSorted(),
  };
}
