import { sql, type Connection, type Transaction } from '../lib/sql.ts';
import type { Limits } from './keys.ts';

/** What an operator has set: people lower it, and neither raise nor remove it. Null: nothing. */
export interface Ceilings {
  monthly_ceiling_usd_micro: bigint | null;
  rpm_ceiling: number | null;
  open_jobs_ceiling: number | null;
}

/** For the keys that the people of an account make. */
export async function ofAccount(db: Connection, accountId: string): Promise<Ceilings> {
  const [row] = await db.run<Ceilings>(sql`
    select key_monthly_ceiling_usd_micro as monthly_ceiling_usd_micro,
      key_rpm_ceiling as rpm_ceiling, key_open_jobs_ceiling as open_jobs_ceiling
    from accounts where id = ${accountId}`);
  return row!;
}

/** An operator has made a key with these. */
export async function lower(tx: Transaction, accountId: string, limits: Limits): Promise<void> {
  const { monthly_limit_usd_micro = null, rpm = null, open_jobs = null } = limits;
  if (monthly_limit_usd_micro === null && rpm === null && open_jobs === null) return;
  await tx.run(sql`
    update accounts set
      key_monthly_ceiling_usd_micro =
        least(key_monthly_ceiling_usd_micro, ${monthly_limit_usd_micro}::bigint),
      key_rpm_ceiling = least(key_rpm_ceiling, ${rpm}::int),
      key_open_jobs_ceiling = least(key_open_jobs_ceiling, ${open_jobs}::int)
    where id = ${accountId}`);
}

/**
 * An operator has set what is given of a key: of that the lowest of the account's living keys
 * counts from now on. The studio's are its own.
 */
export async function settle(tx: Transaction, keyId: string, limits: Limits): Promise<void> {
  const given = (name: keyof Limits) => limits[name] !== undefined;
  await tx.run(sql`
    update accounts a set
      key_monthly_ceiling_usd_micro = case when ${given('monthly_limit_usd_micro')}
        then m.monthly else a.key_monthly_ceiling_usd_micro end,
      key_rpm_ceiling = case when ${given('rpm')} then m.rpm else a.key_rpm_ceiling end,
      key_open_jobs_ceiling = case when ${given('open_jobs')}
        then m.open_jobs else a.key_open_jobs_ceiling end
    from (
      select min(k.monthly_ceiling_usd_micro) as monthly, min(k.rpm_ceiling) as rpm,
        min(k.open_jobs_ceiling) as open_jobs
      from keys s join keys k on k.account_id = s.account_id
      where s.id = ${keyId} and k.revoked_at is null and not k.is_studio
    ) m
    where a.id = (select account_id from keys where id = ${keyId} and not is_studio)`);
}
