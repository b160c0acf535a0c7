import type { Family } from '../../core/deposit/address.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

/** Deposit addresses with the tokens that they received, for the operator's wallet. */

export interface ListedAddress {
  family: Family;
  address: string;
  index: number;
  account_id: string;
  account_email: string;
  key_id: string;
  credited_usd_micro: bigint;
  /** When the newest deposit was found, credited or not; null: there is none. */
  last_at: Date | null;
  /**
   * All tokens that arrived at the address, credited or not. Transfers that only one endpoint knows
   * are left out.
   */
  received: { chain: string; token: string; units: string }[];
  created_at: Date;
  retired_at: Date | null;
  /** Null: new addresses are derived from the same key. */
  key_retired_at: Date | null;
}

/**
 * Addresses by key and index, retired addresses included. `since`: only addresses that received
 * tokens after this time, with only these tokens.
 */
export function listAddresses(
  db: Connection,
  { account_id, since }: { account_id: string | null; since: Date | null },
): Promise<ListedAddress[]> {
  return db.run<ListedAddress>(sql`
    with got as (
      select to_address, chain, token, sum(amount_units) as units, max(created_at) as last_at,
        sum(amount_usd_micro) filter (where state = 'credited') as credited
      from chain_deposits
      where (${since}::timestamptz is null or created_at >= ${since})
        and amount_units > 0 and why is distinct from 'unconfirmed'
      group by to_address, chain, token
    )
    select a.family, a.address, a.index, a.account_id, o.email as account_email, a.key_id,
      coalesce(sum(g.credited), 0)::bigint as credited_usd_micro, max(g.last_at) as last_at,
      coalesce(json_agg(json_build_object('chain', g.chain, 'token', g.token,
        'units', g.units::text) order by g.chain, g.token) filter (where g.chain is not null),
        '[]') as received,
      a.created_at, a.retired_at, k.retired_at as key_retired_at
    from deposit_addresses a join deposit_keys k on k.id = a.key_id
      join accounts o on o.id = a.account_id left join got g on g.to_address = a.address
    where a.account_id = coalesce(${account_id}::uuid, a.account_id)
      and (${since}::timestamptz is null or g.chain is not null)
    group by a.family, a.address, o.email, k.retired_at, k.created_at
    order by a.family, k.created_at, a.index`);
}
