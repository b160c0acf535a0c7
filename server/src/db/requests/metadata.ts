import type { Metadata } from '../../core/request/metadata.ts';

/** SQL conditions: the account's request has all these pairs. */
export function hasPairs(
  pairs: Metadata,
  { id, account }: { id: string; account: string },
  bind: (value: unknown) => string,
): string {
  const ofPair = ([name, value]: [string, string]) =>
    `${id} in (select request_id from metadata_pairs where account_id = ${account}
      and name = ${bind(name)} and value = ${bind(value)})`;
  return Object.entries(pairs).map(ofPair).join(' and ');
}
