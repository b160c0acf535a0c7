import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { call } from '../api.ts';
import { useAccount, useAccountPath } from '../session.tsx';
import { modelsQuery } from '../studio/models.ts';
import type { Choices } from './RequestFilters.tsx';
import { queryOf, type Page, type Search } from './request-entries.ts';

/** A page of the list. The one before stays until it is there. */
export function usePage(search: Search) {
  const { account_id } = useAccount();
  const path = useAccountPath();
  return useQuery({
    queryKey: ['account', account_id, 'requests', 'page', search],
    queryFn: ({ signal }) => call<Page>(path('/requests'), { query: queryOf(search), signal }),
    placeholderData: keepPreviousData,
  });
}

interface KeyName {
  key_id: string;
  name: string;
  last4: string;
  revoked: boolean;
}

/** The account's keys by id; undefined while they are not known. */
export function useKeyNames(): Map<string, KeyName> | undefined {
  const { account_id } = useAccount();
  const path = useAccountPath();
  const { data } = useQuery({
    queryKey: ['account', account_id, 'request-choices'],
    queryFn: () => call<{ keys: KeyName[] }>(path('/requests/choices')),
    staleTime: 60_000,
  });
  return data && new Map(data.keys.map((key) => [key.key_id, key]));
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
