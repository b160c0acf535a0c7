import type { HeldWhy, IgnoredWhy } from '../../core/deposit/deposit.ts';
import { lastId } from '../../lib/id.ts';
import { fragment, sql, type Connection } from '../../lib/sql/sql.ts';

/** The deposits of an account, as the account sees them. */

export interface DepositEntry {
  /** The id of the deposit; null while its block is not final. */
  id: string | null;
  chain: string;
  token: string;
  to_address: string;
  tx_hash: string;
  log_position: number | null;
  block_height: bigint;
  amount_usd_micro: bigint;
  state: 'seen' | 'dropped' | 'held' | 'credited' | 'ignored';
  /** Why a deposit in a final block is not credited. An unmatched one belongs to no account. */
  why: Exclude<HeldWhy, 'unmatched'> | IgnoredWhy | null;
  seen_at: Date;
  credited_at: Date | null;
  transfer_id: string | null;
}

/** Deposits in final blocks, newest first. */
export function listFinal(
  db: Connection,
  { account_id, below_id, limit }: { account_id: string; below_id: string | null; limit: number },
): Promise<(DepositEntry & { id: string })[]> {
  return db.run<DepositEntry & { id: string }>(sql`
    select id, chain, token, to_address, tx_hash, log_position, block_height, amount_usd_micro,
      state, why, seen_at, credited_at, transfer_id
    from chain_deposits
    where account_id = ${account_id} and id < ${below_id ?? lastId}::uuid
    order by id desc limit ${limit}`);
}

/** Needed because a read of final blocks alone does not delete the sightings of their deposits. */
const isNotFinal = fragment(`not exists (select from chain_deposits d
  where d.chain = s.chain and d.tx_hash = s.tx_hash)`);

/** A text that changes with what an account sees of its deposits. */
export interface DepositVersion {
  account_id: string;
  version: string;
}

/** The versions of these accounts. `newest`: the number of final deposits read per account. */
export function readVersions(
  db: Connection,
  accountIds: readonly string[],
  newest: number,
): Promise<DepositVersion[]> {
  return db.run<DepositVersion>(sql`
    select a.account_id, md5(concat_ws(';', (
        select string_agg(concat_ws(' ', s.chain, s.tx_hash, s.block_log_index, s.block_height,
          coalesce(s.gone_at::text, c.head_height::text)), ','
          order by s.chain, s.tx_hash, s.block_log_index)
        from chain_sightings s join chains c on c.name = s.chain
        where s.account_id = a.account_id and ${isNotFinal}
      ), (
        select string_agg(d.id || d.state, ',' order by d.id)
        from (select id, state from chain_deposits where account_id = a.account_id
          order by id desc limit ${newest}) d
      ))) as version
    from unnest(${accountIds}::uuid[]) as a (account_id)`);
}

/** The newest deposits in blocks that are not final, and those that the chain has dropped. */
export function listSightings(
  db: Connection,
  accountId: string,
  limit: number,
): Promise<DepositEntry[]> {
  return db.run<DepositEntry>(sql`
    select null as id, chain, token, to_address, tx_hash, null as log_position, block_height,
      amount_usd_micro, case when gone_at is null then 'seen' else 'dropped' end as state,
      null as why, seen_at,
      null as credited_at, null as transfer_id
    from chain_sightings s
    where account_id = ${accountId} and ${isNotFinal}
    order by seen_at desc, tx_hash limit ${limit}`);
}
