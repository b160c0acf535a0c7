import { rowsOf } from '../lib/sql/rows-of.ts';
import { rawSql, sql, type Connection, type Transaction } from '../lib/sql/sql.ts';
import type { AuditReport } from './audit.ts';
import { laws } from './laws.ts';
import { wholeScope } from './scope.ts';
import { writeCounters, type KeyCounters } from './usage.ts';

/**
 * Counters that only repeat transfers and requests, so that a wrong one can be computed again.
 * Balances and debts are not among them, although they too follow from the transfers: they are the
 * second witness of the money. If the two differ, nobody knows which one is wrong.
 */

/** The accounts of all wrong counters. */
export async function accountsOf(db: Connection, { violations }: AuditReport): Promise<string[]> {
  const found = new Set<string>();
  for (const { law } of violations) {
    const { broken, counter_of } = laws.find(({ name }) => name === law)!;
    const keys = counter_of === 'key_id' ? 'join key_usage using (key_id)' : '';
    const rows = await db.run<{ account_id: string }>(
      rawSql(`select distinct account_id from (${broken(wholeScope)}) broken ${keys}`),
    );
    for (const { account_id } of rows) found.add(account_id);
  }
  return [...found].toSorted();
}

interface OwnedCounters extends KeyCounters {
  account_id: string;
}

interface AccountJobs {
  account_id: string;
  open_requests: number;
}

/** A counter that was set; amounts are micro-USD. */
export interface MendedCounter {
  account_id: string;
  /** Null: a counter of the account. */
  key_id: string | null;
  counter:
    | 'open_jobs'
    | 'month'
    | 'pending_usd_micro'
    | 'posted_usd_micro'
    | 'daily_sums'
    | 'daily_usage'
    | 'statement_sums';
  was: string;
  is: string;
}

/**
 * Computes the counters of these accounts again, in the caller's transaction, and returns those
 * that were wrong. The locks are those of a submit, in the same order, so nothing that is counted
 * changes meanwhile.
 */
export async function mendCounters(
  tx: Transaction,
  accountIds: string[],
): Promise<MendedCounter[]> {
  const accounts = await tx.run<AccountJobs>(sql`
    select account_id, open_requests from balances
    where account_id = any(${accountIds}::uuid[]) order by account_id for update`);
  const keys = await tx.run<OwnedCounters>(sql`
    select key_id, account_id, to_char(month, 'YYYY-MM-DD') as month, pending_usd_micro,
      posted_usd_micro, open_requests
    from key_usage where account_id = any(${accountIds}::uuid[]) order by key_id for update`);
  // A separate statement, so that it sees what was committed while the locks were waited for.
  const counted = new Map(
    (await countAgain(tx, accountIds)).map((counters) => [counters.key_id, counters]),
  );
  const ofKeys = keys.flatMap((was) => differences(was, counted.get(was.key_id)!));
  const ofAccounts = accounts.flatMap(({ account_id, open_requests: was }) => {
    const own = [...counted.values()].filter((key) => key.account_id === account_id);
    const is = own.reduce((sum, key) => sum + key.open_requests, 0);
    return mended({ account_id, key_id: null, counter: 'open_jobs' }, was, is);
  });
  writeCounters(tx, [...counted.values()]);
  writeAccounts(tx, ofAccounts);
  return [...ofAccounts, ...ofKeys, ...(await dropWrongSums(tx, accountIds))];
}

function differences(was: OwnedCounters, is: OwnedCounters): MendedCounter[] {
  const { account_id, key_id } = was;
  const of = { account_id, key_id };
  return [
    ...mended({ ...of, counter: 'open_jobs' }, was.open_requests, is.open_requests),
    ...mended({ ...of, counter: 'month' }, was.month, is.month),
    ...mended({ ...of, counter: 'pending_usd_micro' }, was.pending_usd_micro, is.pending_usd_micro),
    ...mended({ ...of, counter: 'posted_usd_micro' }, was.posted_usd_micro, is.posted_usd_micro),
  ];
}

type Value = string | number | bigint;

function mended(of: Omit<MendedCounter, 'was' | 'is'>, was: Value, is: Value): MendedCounter[] {
  return was === is ? [] : [{ ...of, was: String(was), is: String(is) }];
}

/** A key's month stays as it is, unless it is before its newest reservation or in the future. */
function countAgain(tx: Transaction, accountIds: string[]): Promise<OwnedCounters[]> {
  return tx.run<OwnedCounters>(sql`
    with reserves as (
      select r.key_id, date_trunc('month', r.created_at at time zone 'utc')::date as month,
        coalesce(sum(r.amount_usd_micro) filter (where s.id is null), 0)::bigint as pending,
        coalesce(sum(s.amount_usd_micro) filter (where s.kind = 'charge'), 0)::bigint as posted
      from transfers r left join transfers s on s.pending_id = r.id
      where r.kind = 'reserve' and r.account_id = any(${accountIds}::uuid[]) group by 1, 2
    ), newest as (
      select key_id, max(month) as month from reserves group by 1
    ), months as (
      select u.key_id, u.account_id, case
        when u.month >= coalesce(n.month, u.month)
          -- After a failover, the new server's clock may be behind the one that wrote the month.
          and u.month <= (now() + interval '1 hour') at time zone 'utc' then u.month
        else coalesce(n.month, date_trunc('month', now() at time zone 'utc')::date) end as month
      from key_usage u left join newest n using (key_id)
      where u.account_id = any(${accountIds}::uuid[])
    ), jobs as (
      select key_id, count(*)::int as open from requests
      where account_id = any(${accountIds}::uuid[]) and status in ('IN_QUEUE', 'IN_PROGRESS')
        and kind <> 'text' group by 1
    )
    select m.key_id, m.account_id, to_char(m.month, 'YYYY-MM-DD') as month,
      coalesce(r.pending, 0) as pending_usd_micro, coalesce(r.posted, 0) as posted_usd_micro,
      coalesce(j.open, 0) as open_requests
    from months m left join reserves r using (key_id, month) left join jobs j using (key_id)`);
}

function writeAccounts(tx: Transaction, changes: MendedCounter[]): void {
  const rows = changes.map(({ account_id, is }) => ({ account_id, open: Number(is) }));
  tx.send(sql`
    update balances b set open_requests = d.open
    from ${rowsOf(rows, { account_id: 'uuid', open: 'int' })} as d
    where b.account_id = d.account_id`);
}

/** Stored sums that a law proves: its name, what they are, and their tables. */
const stored = [
  ['spend_days_recompute', 'daily_sums', 'spend_rollups', 'spend_days'],
  ['usage_days_recompute', 'daily_usage', 'usage_rollups', 'usage_days'],
  ['transfer_sums_recompute', 'statement_sums', 'transfer_sums'],
] as const;

/** Drops the stored sums of accounts with a wrong one. They are stored again when next read. */
async function dropWrongSums(tx: Transaction, accountIds: string[]): Promise<MendedCounter[]> {
  const mended: MendedCounter[] = [];
  for (const [law, counter, ...tables] of stored) {
    const { broken } = laws.find(({ name }) => name === law)!;
    const wrong = await tx.run<{ account_id: string; sums: bigint }>(
      rawSql(
        `select account_id, count(*) as sums from (${broken(wholeScope)}) broken
         where account_id = any($1::uuid[]) group by 1`,
        [`{${accountIds.join()}}`],
      ),
    );
    const ids = `{${wrong.map(({ account_id }) => account_id).join()}}`;
    for (const table of tables)
      tx.send(rawSql(`delete from ${table} where account_id = any($1::uuid[])`, [ids]));
    for (const { account_id, sums } of wrong)
      mended.push({
        account_id,
        key_id: null,
        counter,
        was: `${sums} wrong`,
        is: 'computed again when they are next read',
      });
  }
  return mended;
}
