import type { BlockRange } from '../../core/deposit/transfer.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

/** A deposit in a block that is not final yet. */
export interface Sighting {
  tx_hash: string;
  block_log_index: number;
  block_height: bigint;
  token: string;
  to_address: string;
  account_id: string;
  amount_usd_micro: bigint;
}

/** How long a deposit that the chain no longer has is still shown as dropped. */
const goneShownSeconds = 3600;

/**
 * Stores the deposits that the newest read has seen above the final block, up to the block `head`.
 * Earlier sightings up to `head` that the read has not seen again are final by now, or gone.
 * Sightings in the blocks `skipped` are kept.
 */
export async function replace(
  db: Connection,
  chain: string,
  seen: Sighting[],
  head: bigint,
  skipped: BlockRange | null,
): Promise<void> {
  await db.run(sql`
    with seen as (
      select * from ${rowsOf(seen, {
        tx_hash: 'text',
        block_log_index: 'int',
        block_height: 'bigint',
        token: 'text',
        to_address: 'text',
        account_id: 'uuid',
        amount_usd_micro: 'bigint',
      })} as d
    ), kept as (
      insert into chain_sightings as s
        (chain, tx_hash, block_log_index, block_height, token, to_address, account_id,
         amount_usd_micro)
      select ${chain}, tx_hash, block_log_index, block_height, token, to_address, account_id,
        amount_usd_micro
      from seen order by tx_hash, block_log_index
      on conflict (chain, tx_hash, block_log_index) do update set
        block_height = excluded.block_height,
        token = excluded.token,
        to_address = excluded.to_address,
        account_id = excluded.account_id,
        amount_usd_micro = excluded.amount_usd_micro,
        gone_at = null
      where s.gone_at is not null or (s.block_height, s.token, s.to_address, s.account_id,
        s.amount_usd_micro) is distinct from (excluded.block_height, excluded.token,
        excluded.to_address, excluded.account_id, excluded.amount_usd_micro)
    ), final as (
      delete from chain_sightings s where chain = ${chain} and (
        gone_at < now() - ${goneShownSeconds} * interval '1 s'
        or exists (
          select from chain_deposits c where c.chain = s.chain and c.tx_hash = s.tx_hash)
        or exists (
          select from seen where seen.tx_hash = s.tx_hash
            and seen.block_log_index <> s.block_log_index)
        and not exists (
          select from seen where seen.tx_hash = s.tx_hash
            and seen.block_log_index = s.block_log_index))
      returning tx_hash, block_log_index
    )
    update chain_sightings s set gone_at = now()
    where chain = ${chain} and gone_at is null and block_height <= ${head}
      and not coalesce(block_height between ${skipped?.from ?? null}::bigint
        and ${skipped?.to ?? null}::bigint, false)
      and (tx_hash, block_log_index) not in (select tx_hash, block_log_index from seen)
      and (tx_hash, block_log_index) not in (select tx_hash, block_log_index from final)`);
}
