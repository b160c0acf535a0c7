import { rawSql, type Database, type Transaction } from '../../src/lib/sql/sql.ts';

/** As if the newest seals, or the tables of seals, had been made the day before. */
export async function endDay(db: Database): Promise<void> {
  await db.tx(endDayIn);
}

/** The same in a transaction, which goes on without triggers. */
export async function endDayIn(tx: Transaction): Promise<void> {
  await tx.run(rawSql('set local session_replication_role = replica'));
  await tx.run(
    rawSql(`update migrations set applied_at = applied_at - interval '1 day'
      where name like '%_seals.sql'`),
  );
  await tx.run(rawSql(`update seal_heads set created_at = created_at - interval '1 day'`));
}
