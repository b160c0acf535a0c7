import { rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { expireBonuses } from '../../src/operations/accounts/bonus.ts';

/** Moves the ends of an account's bonuses to the past, in the log too, and ends them. */
export async function endBonuses(db: Database, account_id: string): Promise<void> {
  await passEnds(db, account_id);
  await expireBonuses(db, 100);
}

/** Moves the ends of an account's bonuses to the past by so many days, without ending them. */
export async function passEnds(db: Database, account_id: string, days = 1000): Promise<void> {
  await db.run(sql`update bonuses set expires_at = expires_at - ${days} * interval '1 day'
      where account_id = ${account_id} and ended_by is null`);
  await db.run(
    rawSql(`alter table operator_log disable trigger operator_log_append_only;
      update operator_log l
        set details = (l.details::jsonb || jsonb_build_object('expires_at', b.expires_at))
        from bonuses b where l.details->>'transfer_id' = b.transfer_id::text;
      alter table operator_log enable trigger operator_log_append_only`),
  );
}
