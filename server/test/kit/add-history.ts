import { sql, type Transaction } from '../../src/lib/sql/sql.ts';

/** An account gets so many corrections of 1 micro-USD, from before the operator's log. */
export async function addHistory(tx: Transaction, account_id: string, many: number) {
  await tx.run(sql`
    insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id,
      amount_usd_micro, available_after_usd_micro, reason, created_at)
    select gen_random_uuid(), account_id, last_seq + n, 'adjustment',
      '00000000-0000-0000-0000-000000000003', account_id, 1,
      credits_posted - debits_posted - debits_pending + n, 'history', '2020-01-01'
    from balances cross join generate_series(1, ${many}::int) n where account_id = ${account_id}`);
  await tx.run(sql`
    update balances set last_seq = last_seq + ${many}, credits_posted = credits_posted + ${many}
    where account_id = ${account_id}`);
}
