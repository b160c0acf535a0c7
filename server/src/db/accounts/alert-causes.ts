import type { AlertCause, alertBounds, CauseFacts } from '../../core/account/alert.ts';
import { idsWritten } from '../../lib/id.ts';
import { constant, sql, type Connection } from '../../lib/sql/sql.ts';
import { monthStart, spentThisMonth } from './month.ts';

/** Causes of e-mails to accounts. The process that finds one first stores it, once a period. */

const hourMs = 3_600_000;
const day = constant(`date_trunc('day', now() at time zone 'utc') at time zone 'utc'`);
const month = constant(`${monthStart} at time zone 'utc'`);
const spent = constant(spentThisMonth);

/** Stores at most `limit` new causes, unless their account has switched that alert off. */
export async function storeNew(
  db: Connection,
  bounds: typeof alertBounds,
  limit: number,
): Promise<void> {
  const lately = idsWritten(Date.now() - hourMs, null).first;
  await db.run(sql`
    with limited as materialized (
      select k.account_id, k.id, k.name, k.last4, k.monthly_limit_usd_micro as most,
        ${spent} as spent
      from keys k join key_usage u on u.key_id = k.id
      where k.monthly_limit_usd_micro > 0 and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())
    ), failing as (
      select account_id from webhook_deliveries
      where id >= ${lately}::uuid and created_at > now() - interval '1 hour' and cause = 'final'
        and (status is null or status not between 200 and 299)
      group by account_id having count(*) >= ${bounds.webhooks}::int
    ), ended as (
      select account_id, count(*) as ended, count(*) filter (where status = 'FAILED') as failed
      from requests where kind <> 'text' and completed_at > now() - interval '1 hour'
      group by account_id having count(*) >= ${bounds.jobs}::int
    ), found as (
      select account_id, case when spent >= most then 'key_full' else 'key_near' end as cause,
        id::text as subject, ${month} as period_start, json_build_object('name', name,
          'last4', last4, 'spent_usd_micro', spent::text, 'limit_usd_micro', most::text) as facts
      from limited where spent >= most::numeric * ${bounds.nearPercent}::int / 100
      union all
      select account_id, 'webhooks', '', ${day}, json_build_object('failed', newest.count)
      from failing f cross join lateral (
        select count(*), bool_or(status between 200 and 299) as any_arrived from (
          select status from webhook_deliveries d
          where d.account_id = f.account_id and id >= ${lately}::uuid and cause = 'final'
          order by id desc limit ${bounds.webhooks}) last) newest
      where newest.any_arrived is not true
      union all
      select account_id, 'jobs', '', ${day}, json_build_object('ended', ended, 'failed', failed)
      from ended where failed * 2 > ended
    )
    insert into alert_causes (account_id, cause, subject, period_start, facts, again_at)
    select f.*, now() from found f left join alerts a using (account_id)
    where coalesce(case f.cause when 'webhooks' then a.failing_webhooks
        when 'jobs' then a.failing_jobs else a.key_limits end, true)
      and not exists (select from alert_causes c where c.account_id = f.account_id
        and c.cause = f.cause and c.subject = f.subject and c.period_start = f.period_start)
    order by f.account_id, f.cause, f.subject limit ${limit}
    on conflict do nothing`);
}

export type DueCause = AlertCause & { id: bigint; account_id: string };

/**
 * Claims causes that are due. An account that got an e-mail within the last hour waits. A cause
 * that is not settled by the end of the lease is claimed again, as a low balance is.
 */
export function claim(
  db: Connection,
  wanted: { limit: number; leaseSeconds: number; triesMax: number },
): Promise<DueCause[]> {
  const { limit, leaseSeconds, triesMax } = wanted;
  return db.run<DueCause>(sql`
    update alert_causes c set tries = c.tries + 1,
      again_at = case when c.tries + 1 < ${triesMax}::int
        then now() + ${leaseSeconds}::float8 * interval '1 s' * (c.tries + 1) ^ 2 end
    from (
      select id from alert_causes w
      where again_at <= now() and not exists (select from alert_causes o
        where o.account_id = w.account_id and o.notified_at > now() - interval '1 hour')
      order by account_id, id limit ${limit} for update skip locked
    ) d
    where c.id = d.id
    returning c.id, c.account_id, c.cause, c.facts`);
}

/** Records that an e-mail has told them. */
export async function markSent(db: Connection, ids: bigint[]): Promise<void> {
  await db.run(sql`
    update alert_causes set notified_at = now(), again_at = null where id = any(${ids}::bigint[])`);
}

/** Ends e-mails that are due, of alerts that the account has switched off. */
export async function drop(
  db: Connection,
  account_id: string,
  causes: AlertCause['cause'][],
): Promise<void> {
  await db.run(sql`
    update alert_causes set again_at = null
    where account_id = ${account_id} and cause = any(${causes}::text[]) and again_at is not null`);
}

/** The jobs of an account that failed, as found within the last day; null: none were. */
export async function findFailedJobs(
  db: Connection,
  account_id: string,
): Promise<CauseFacts['jobs'] | null> {
  const [row] = await db.run<{ facts: CauseFacts['jobs'] }>(sql`
    select facts from alert_causes
    where account_id = ${account_id} and cause = 'jobs' and found_at > now() - interval '1 day'
    order by period_start desc limit 1`);
  return row?.facts ?? null;
}

/** Deletes causes whose period is long over. */
export async function clear(db: Connection, limit: number): Promise<void> {
  await db.run(sql`
    delete from alert_causes where id = any(array(
      select id from alert_causes where found_at < now() - interval '40 days' limit ${limit}))`);
}
