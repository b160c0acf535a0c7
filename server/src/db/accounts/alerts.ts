import { sql, type Connection } from '../../lib/sql/sql.ts';

/** About what an account is alerted. */
export interface AlertRow {
  key_limits: boolean;
  failing_webhooks: boolean;
  failing_jobs: boolean;
  low_balance_usd_micro: bigint | null;
  emails: boolean;
  webhook_url: string | null;
  notified_at: Date | null;
}

export async function find(db: Connection, accountId: string): Promise<AlertRow | null> {
  const [row] = await db.run<AlertRow>(sql`
    select key_limits, failing_webhooks, failing_jobs, low_balance_usd_micro, emails, webhook_url,
      notified_at
    from alerts
    where account_id = ${accountId}`);
  return row ?? null;
}

/**
 * Stores the settings. Without a threshold no alert is sent, and the last one no longer counts as
 * sent.
 */
export async function put(
  db: Connection,
  accountId: string,
  wanted: Omit<AlertRow, 'notified_at'>,
): Promise<void> {
  const { low_balance_usd_micro, emails, webhook_url, key_limits } = wanted;
  const { failing_webhooks, failing_jobs } = wanted;
  await db.run(sql`
    insert into alerts (account_id, low_balance_usd_micro, emails, webhook_url, key_limits,
      failing_webhooks, failing_jobs)
    values (${accountId}, ${low_balance_usd_micro}, ${emails}, ${webhook_url}, ${key_limits},
      ${failing_webhooks}, ${failing_jobs})
    on conflict (account_id) do update set emails = excluded.emails,
      key_limits = excluded.key_limits, failing_webhooks = excluded.failing_webhooks,
      failing_jobs = excluded.failing_jobs,
      low_balance_usd_micro = excluded.low_balance_usd_micro, webhook_url = excluded.webhook_url,
      notified_at = case when excluded.low_balance_usd_micro is not null
        then alerts.notified_at end,
      again_at = case when excluded.low_balance_usd_micro is not null then alerts.again_at end`);
}

/**
 * Begins to watch accounts that have chosen nothing, once they have `threshold` micro-USD: an
 * account that was never above it is not alerted.
 */
export async function watchUnchosen(
  db: Connection,
  threshold: bigint,
  limit: number,
): Promise<void> {
  await db.run(sql`
    insert into alerts (account_id, low_balance_usd_micro)
    select account_id, ${threshold}::bigint from balances b
    where credits_posted - debits_posted - debits_pending >= ${threshold}::bigint
      and not exists (select from alerts a where a.account_id = b.account_id)
    limit ${limit}
    on conflict do nothing`);
}

/** An account that has fallen below its threshold, claimed by this process. */
export interface LowBalance extends Pick<AlertRow, 'emails' | 'webhook_url'> {
  account_id: string;
  low_balance_usd_micro: bigint;
  available_usd_micro: bigint;
  notified_at: Date;
  tries: number;
}

/**
 * Records in one statement which accounts have fallen below their threshold or are above it again.
 * Each account is claimed by one process. If that process has not settled its alert when the lease
 * ends, the alert is claimed again, a few times and after longer and longer waits.
 */
export async function claimLow(
  db: Connection,
  wanted: { limit: number; leaseSeconds: number; triesMax: number },
): Promise<LowBalance[]> {
  const { limit, leaseSeconds, triesMax } = wanted;
  const rows = await db.run<LowBalance & { is_low: boolean }>(sql`
    update alerts a set
      notified_at = case when d.is_low
        then coalesce(a.notified_at, date_trunc('milliseconds', now())) end,
      tries = case when not d.is_low then 0 when a.notified_at is null then 1 else a.tries + 1 end,
      again_at = case when d.is_low and (a.notified_at is null or a.tries + 1 < ${triesMax}::int)
        then now() + ${leaseSeconds}::float8 * interval '1 s'
          * case when a.notified_at is null then 1 else (a.tries + 1) ^ 2 end end
    from (
      select l.account_id, f.available, f.available < l.low_balance_usd_micro as is_low
      from alerts l join balances b using (account_id),
        lateral (select b.credits_posted - b.debits_posted - b.debits_pending as available) f
      where l.low_balance_usd_micro is not null
        and ((l.notified_at is null) = (f.available < l.low_balance_usd_micro)
          or l.again_at <= now())
      order by l.account_id limit ${limit} for update of l skip locked
    ) d
    where a.account_id = d.account_id
    returning a.account_id, a.low_balance_usd_micro, a.emails, a.webhook_url, a.notified_at,
      a.tries, d.available as available_usd_micro, d.is_low`);
  return rows.filter(({ is_low }) => is_low);
}

/** Records that the alert was sent, so that it is not tried again. */
export async function markSent(
  db: Connection,
  { account_id, notified_at }: Pick<LowBalance, 'account_id' | 'notified_at'>,
): Promise<void> {
  await db.run(sql`
    update alerts set again_at = null
    where account_id = ${account_id} and notified_at = ${notified_at}::timestamptz`);
}

/** Removes the addresses that alerts of these accounts are sent to. */
export async function dropWebhooks(db: Connection, accountIds: string[]): Promise<void> {
  await db.run(sql`
    update alerts set webhook_url = null where account_id = any(${accountIds}::uuid[])`);
}
