import { sql, type Connection, type Transaction } from '../../lib/sql/sql.ts';
import type { Ceilings, Limits } from './keys.ts';

/** Ceilings for the keys that the people of an account create. */
export async function ofAccount(db: Connection, accountId: string): Promise<Ceilings> {
  const [row] = await db.run<Ceilings>(sql`
    select key_monthly_ceiling_usd_micro as monthly_ceiling_usd_micro,
      key_rpm_ceiling as rpm_ceiling, key_open_jobs_ceiling as open_jobs_ceiling
    from accounts where id = ${accountId}`);
  return row!;
}

/** Sets the account's ceilings when an operator limits a key, unless it is the studio key. */
export async function set(tx: Transaction, keyId: string, limits: Limits): Promise<void> {
  const { monthly_limit_usd_micro: monthly, rpm, open_jobs } = limits;
  await tx.run(sql`
    update accounts set
      key_monthly_ceiling_usd_micro = case when ${monthly !== undefined}
        then ${monthly ?? null}::bigint else key_monthly_ceiling_usd_micro end,
      key_rpm_ceiling = case when ${rpm !== undefined}
        then ${rpm ?? null}::int else key_rpm_ceiling end,
      key_open_jobs_ceiling = case when ${open_jobs !== undefined}
        then ${open_jobs ?? null}::int else key_open_jobs_ceiling end
    where id = (select account_id from keys where id = ${keyId} and not is_studio)`);
}
