import { useDebouncedValue } from '@mantine/hooks';
import { useMemo } from 'react';
import { fromJson } from '../../../client/src/unknown.ts';
import type { Allowance } from '../api-types.ts';
import { formatUsd } from '../money.ts';
import type { Input } from './form/draft.ts';
import type { Field } from './form/schema.ts';
import { previous, useAccountQuery, useReload } from '../queries.ts';

/** The price of the next request, and whether the balance covers it. */

const pauseMs = 250;

/** The catalog at the account's prices. */
export function useModels() {
  return useAccountQuery('GET /studio/models', {}, { staleTime: 60_000, select: dataOf });
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

/** The reason why the allowance does not permit a run at this price; null if it does. */
export function shortage(allowance: Allowance, price: string, opensJob = true): Shortage | null {
  const { available_usd_micro, limit_usd_micro, spent_usd_micro } = allowance;
  const amount = BigInt(price);
  if (opensJob && allowance.open_jobs >= allowance.open_jobs_limit) return 'jobs';
  if (limit_usd_micro !== null && BigInt(spent_usd_micro) + amount > BigInt(limit_usd_micro))
    return 'limit';
  return amount > BigInt(available_usd_micro) ? 'balance' : null;
}
