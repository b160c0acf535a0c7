import { useDebouncedValue } from '@mantine/hooks';
import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { fromJson } from '../../../client/src/unknown.ts';
import type { Allowance, Model } from '../api-types.ts';
import { formatUsd } from '../money.ts';
import type { Input } from './form/draft.ts';
import type { Field } from './form/schema.ts';
import { previous, useAccountKey, useAccountQuery, useReload } from '../queries.ts';
import { useAccountApi } from '../session.tsx';

/** The price of the next request, and whether the balance covers it. */

const pauseMs = 250;

/** The catalog at the account's prices. */
export function useModels() {
  return useAccountQuery('GET /studio/models', {}, { staleTime: 60_000, select: dataOf });
}

/** The path of a picture that shows what a model makes; undefined if it has none. */
export function useSample(model_id: string): string | undefined {
  return useAccountQuery('GET /studio/models', {}, { staleTime: 60_000 }).data?.samples[model_id];
}

/** A model of the catalog; undefined while loading, or if the catalog has it no longer. */
export function useModel(model_id: string) {
  return useModels().data?.find(({ id }) => id === model_id);
}

function dataOf<T>({ data }: { data: T }): T {
  return data;
}

/** The quote for the current input; `isFresh` says whether it is up to date. */
export function useQuote(model_id: string, input: Input, fields: Field[], priced: Set<string>) {
  const pricing = useMemo(() => pricingInput(input, fields, priced), [input, fields, priced]);
  const text = JSON.stringify(pricing);
  const [settled] = useDebouncedValue(text, pauseMs);
  const query = useAccountQuery(
    'POST /v1/estimate',
    { body: { model_id, input: fromJson<Input>(settled) } },
    { ...previous, staleTime: 30_000, retry: false },
  );
  const isFresh = settled === text && !query.isPlaceholderData && !query.isFetching;
  return { quote: query.error ? undefined : query.data, error: query.error, isFresh };
}

/** The quotes of several models for the same input, once all are there. */
export function useQuotes(models: Model[], input: Input, fields: Field[], priced: Set<string>) {
  const text = JSON.stringify(pricingInput(input, fields, priced));
  const [settled] = useDebouncedValue(text, pauseMs);
  const api = useAccountApi();
  const key = useAccountKey();
  const queries = useQueries({
    queries: models.map(({ id: model_id }) => {
      const given = { body: { model_id, input: fromJson<Input>(settled) } };
      return {
        queryKey: key('POST /v1/estimate', given),
        queryFn: () => api('POST /v1/estimate', given),
        ...previous,
        staleTime: 30_000,
        retry: false,
      };
    }),
  });
  const error = queries.find((each) => each.error)?.error ?? null;
  const quotes = queries.flatMap(({ data }) => data ?? []);
  const isSettled = queries.every((each) => !each.isPlaceholderData && !each.isFetching);
  return {
    quotes: error || quotes.length < models.length ? undefined : quotes,
    error,
    isFresh: settled === text && isSettled,
  };
}

/** Fields that affect the price. */
export function pricedFields(model: Model): Set<string> {
  const ofUnit = { sec: ['duration_seconds'], image: ['num_images'], request: [], MP: sizes };
  const unit = model.unit === '1M tokens' ? [] : ofUnit[model.unit];
  const extras = model.extras.map(({ field }) => field);
  return new Set([...unit, ...extras, ...(model.resolutions.length > 0 ? ['resolution'] : [])]);
}

const sizes = ['num_images', 'image_size', 'width', 'height', 'resolution', 'aspect_ratio'];

/** The input without free texts, which do not affect the price: typing them requests no quote. */
function pricingInput(input: Input, fields: Field[], priced: Set<string>): Input {
  const free = new Set(
    fields.filter(({ name, control }) => control.as === 'text' && !priced.has(name)).map(nameOf),
  );
  return Object.fromEntries(Object.entries(input).filter(([name]) => !free.has(name)));
}

function nameOf({ name }: Field): string {
  return name;
}

export function useAllowance() {
  return useAccountQuery('GET /studio/allowance', {}, { refetchInterval: 20_000 }).data;
}

/** Reloads the allowance and the balance, after money was reserved, charged or released. */
export function useMoneyMoved(): () => void {
  const reload = useReload();
  return () => void reload('GET /studio/allowance', 'GET /balance');
}

/** The amount in dollars by which the balance is below a price. */
export function shortBy({ available_usd_micro }: Allowance, price: string): string {
  return formatUsd(BigInt(price) - BigInt(available_usd_micro));
}

export type Shortage = 'balance' | 'limit' | 'jobs';

/** Why the allowance does not permit runs at this price that open jobs; null if it does. */
export function shortage(allowance: Allowance, price: string, opens = 1): Shortage | null {
  const { available_usd_micro, limit_usd_micro, spent_usd_micro } = allowance;
  const amount = BigInt(price);
  if (opens > 0 && allowance.open_jobs + opens > allowance.open_jobs_limit) return 'jobs';
  if (limit_usd_micro !== null && BigInt(spent_usd_micro) + amount > BigInt(limit_usd_micro))
    return 'limit';
  return amount > BigInt(available_usd_micro) ? 'balance' : null;
}
