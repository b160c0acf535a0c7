import type { Metadata } from '../../core/request/metadata.ts';

/**
 * The SQL condition that a request of the account has all these pairs. `id` and `account` are SQL.
 * Without pairs, callers leave the condition out, because it could not use the index of pairs.
 */
export function hasPairs(
  pairs: Metadata,
  { id, account }: { id: string; account: string },
  bind: (value: unknown) => string,
): string {
  return `${id} in (select request_id from request_inputs where account_id = ${account}
    and metadata is not null and metadata @> ${bind(JSON.stringify(pairs))}::jsonb)`;
}
