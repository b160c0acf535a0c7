import { rawSql, type Database } from '../server/src/lib/sql/sql.ts';

/**
 * Finished chats that cost nothing, over 90 days, so that the books stay clean. Each has two pairs
 * of metadata: one that all have, and one of five thousand.
 */
export async function fillHistory(
  db: Database,
  { account_id, key_id }: { account_id: string; key_id: string },
  count: number,
): Promise<void> {
  const at = `now() - interval '90 days' * (${count} - n) / ${count}`;
  const ms = `lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')`;
  const id = (variant: string) => `(substr(${ms}, 1, 8) || '-' || substr(${ms}, 9, 4) ||
    '-7${variant}-8000-' || lpad(to_hex(n), 12, '0'))::uuid`;
  const [account, key] = [`'${account_id}'::uuid`, `'${key_id}'::uuid`];
  const revenue = `'00000000-0000-0000-0000-000000000002'::uuid`;
  await db.tx(async (tx) => {
    for (const text of [
      'set local statement_timeout = 0',
      `create temp table history on commit drop as
        select n, at, ${id('000')} as id, ${id('001')} as charge
        from generate_series(1, ${count}) n cross join lateral (select ${at} as at) t`,
      `insert into requests (id, account_id, key_id, model_id, kind, upstream, quoted_usd_micro,
          charged_usd_micro, status, attempt, created_at, started_at, completed_at, deadline_at)
        select id, ${account}, ${key}, 'bench/chat', 'text', 'bench', 0, 0, 'COMPLETED', 1, at, at,
          at, at from history`,
      `insert into request_inputs (request_id, account_id, input, quote, metadata, created_at)
        select id, ${account}, '{}', '{"price_usd_micro":"0","unit":"request","quantity":1,"unit_price_usd_micro":"0","breakdown":[],"assumptions":{}}',
          jsonb_build_object('env', 'prod', 'customer', 'c' || n % 5000), at from history`,
      `insert into request_results (request_id, account_id, quantity, cost_usd_micro, created_at)
        select id, ${account}, 1, 0, at from history`,
      `insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id,
          amount_usd_micro, available_after_usd_micro, key_id, pending_id, created_at)
        select t.id, ${account}, b.last_seq + t.seq, t.kind, ${account}, ${revenue}, 0,
          b.credits_posted - b.debits_posted - b.debits_pending, t.key_id, t.pending_id, t.at
        from balances b cross join lateral (
          select id, n * 2 - 1 as seq, 'reserve' as kind, ${key} as key_id, null::uuid as pending_id, at
            from history
          union all select charge, n * 2, 'charge', ${key}, id, at from history
        ) t where b.account_id = ${account}`,
      `update balances set last_seq = last_seq + 2 * ${count} where account_id = ${account}`,
      `update key_usage set month = date_trunc('month', now() at time zone 'utc') where key_id = ${key}`,
    ])
      await tx.run(rawSql(text));
  });
  await db.run(rawSql('vacuum analyze'));
}
