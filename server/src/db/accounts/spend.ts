import type { Kind } from '../../core/catalog/catalog.ts';
import { idsWritten } from '../../lib/id.ts';
import { constant, sql, type Connection } from '../../lib/sql/sql.ts';
import { monthStart } from './month.ts';

/** One row of an account's spending, as its overview shows it. */

export interface SpendRow {
  /** Midnight (UTC) of the day in which the requests were made. */
  day: Date;
  kind: Kind;
  /** Null: the sum of all models except those that cost most. */
  model_id: string | null;
  charged_usd_micro: bigint;
  /** Requests that were made, whatever their end. */
  requests: number;
}

/**
 * The days whose sums are stored, as midnights (UTC): from `since`, inclusive, to `until`,
 * exclusive.
 */
export interface RolledUp {
  since: Date;
  until: Date;
}

export async function findRolledUp(db: Connection, accountId: string): Promise<RolledUp | null> {
  const [row] = await db.run<RolledUp>(sql`
    select since::timestamp at time zone 'utc' as since,
      until::timestamp at time zone 'utc' as until
    from spend_rollups where account_id = ${accountId}`);
  return row ?? null;
}

/**
 * Locks the stored sums of an account and returns their period. If there are none, or all are older
 * than `since`, an empty period starts at `since`.
 */
export async function lockRolledUp(
  tx: Connection,
  accountId: string,
  since: Date,
): Promise<RolledUp> {
  const [row] = await tx.run<RolledUp>(sql`
    insert into spend_rollups as r (account_id, since, until)
    values (${accountId}, (${since}::timestamptz at time zone 'utc')::date,
      (${since}::timestamptz at time zone 'utc')::date)
    on conflict (account_id) do update set
      since = case when r.until < excluded.since then excluded.since else r.since end,
      until = greatest(r.until, excluded.until)
    returning since::timestamp at time zone 'utc' as since,
      until::timestamp at time zone 'utc' as until`);
  return row!;
}

/**
 * Stores the sums of the days from `from` to `to` (exclusive), or up to the first day with an open
 * request. Returns the number of these days.
 */
export async function rollUp(
  tx: Connection,
  accountId: string,
  from: Date,
  to: Date,
): Promise<number> {
  const { first, last } = idsWritten(from.getTime(), to.getTime());
  const [row] = await tx.run<{ days: number }>(sql`
    with made as (
      select (date_bin('1 day', created_at, 'epoch') at time zone 'utc')::date as day, kind,
        model_id, coalesce(sum(charged_usd_micro), 0)::bigint as charged, count(*)::int as requests,
        bool_or(charged_usd_micro is null) as open
      from requests
      where account_id = ${accountId} and id >= ${first} and id < ${last}
        and created_at >= ${from}::timestamptz and created_at < ${to}::timestamptz
      group by 1, 2, 3
    ), closed as (
      select coalesce(min(day) filter (where open),
        (${to}::timestamptz at time zone 'utc')::date) as until from made
    ), kept as (
      insert into spend_days (account_id, day, kind, model_id, charged_usd_micro, requests)
      select ${accountId}::uuid, day, kind, model_id, charged, requests from made, closed
      where day < until
    )
    update spend_rollups set until = closed.until from closed where account_id = ${accountId}
    returning spend_rollups.until - (${from}::timestamptz at time zone 'utc')::date as days`);
  return row?.days ?? 0;
}

/**
 * Charges by day, kind and model since a midnight (UTC). Days before `live` are read from the
 * stored sums. A charge counts on the day its request was made, as it does for the key's monthly
 * limit.
 */
export function readByDay(
  db: Connection,
  accountId: string,
  { since, live, modelsMax }: { since: Date; live: Date; modelsMax: number },
): Promise<SpendRow[]> {
  // No index contains `created_at`; bounds on the ids limit the search to a period.
  return db.run<SpendRow>(sql`
    with made as (
      select day::timestamp at time zone 'utc' as day, kind, model_id,
        charged_usd_micro as charged, requests::bigint
      from spend_days
      where account_id = ${accountId} and day >= (${since}::timestamptz at time zone 'utc')::date
        and day < (${live}::timestamptz at time zone 'utc')::date
      union all
      select date_bin('1 day', created_at, 'epoch'), kind, model_id,
        coalesce(sum(charged_usd_micro), 0)::bigint, count(*)
      from requests
      where account_id = ${accountId} and id >= ${idsWritten(live.getTime(), null).first}
        and created_at >= ${live}::timestamptz
      group by 1, 2, 3
    ), costliest as (
      select model_id from made group by model_id
      order by sum(charged) desc, sum(requests) desc, model_id limit ${modelsMax}
    )
    select m.day, m.kind, d.model_id, sum(m.charged)::bigint as charged_usd_micro,
      sum(m.requests)::int as requests
    from made m left join costliest d using (model_id) group by 1, 2, 3 order by 1, 2, 3`);
}

/** Charges by day from one midnight (UTC) to another, of days that have any. */
export function readTotalByDay(
  db: Connection,
  accountId: string,
  { since, until, live }: { since: Date; until: Date; live: Date },
): Promise<{ day: Date; charged_usd_micro: bigint }[]> {
  const from = live > since ? live : since;
  const { first, last } = idsWritten(from.getTime(), until.getTime());
  return db.run<{ day: Date; charged_usd_micro: bigint }>(sql`
    select day, sum(charged)::bigint as charged_usd_micro from (
      select day::timestamp at time zone 'utc' as day, charged_usd_micro as charged
      from spend_days
      where account_id = ${accountId} and day >= (${since}::timestamptz at time zone 'utc')::date
        and day < (least(${until}::timestamptz, ${live}::timestamptz) at time zone 'utc')::date
      union all
      select date_bin('1 day', created_at, 'epoch'), charged_usd_micro from requests
      where account_id = ${accountId} and id >= ${first} and id < ${last}
        and created_at >= ${from}::timestamptz and created_at < ${until}::timestamptz
    ) made group by day order by day`);
}

export interface MonthRow {
  key_id: string;
  name: string;
  is_studio: boolean;
  revoked: boolean;
  monthly_limit_usd_micro: bigint | null;
  /** Charged plus reserved. */
  spent_usd_micro: bigint;
  /** Over all keys of the account. */
  total_usd_micro: bigint;
  keys: number;
  open_requests: number;
  /** First day of the next month. */
  resets_at: Date;
}

/**
 * Spending of an account's keys this month (UTC), without revoked keys that spent nothing. Keys
 * that have used the largest share of their limit come first, then keys that have spent most;
 * revoked keys come last.
 */
export function readThisMonth(
  db: Connection,
  accountId: string,
  limit: number,
): Promise<MonthRow[]> {
  return db.run<MonthRow>(sql`
    with spent as materialized (
      select key_id, pending_usd_micro + posted_usd_micro as amount from key_usage
      where account_id = ${accountId} and month = ${constant(monthStart)}::date
    ), shown as (
      select k.*, coalesce(s.amount, 0) as amount
      from keys k left join spent s on s.key_id = k.id
      where k.account_id = ${accountId} and k.revoked_at is null
      union all
      select k.*, s.amount from spent s join keys k on k.id = s.key_id
      where s.amount > 0 and k.revoked_at is not null
    )
    select id as key_id, name, is_studio, revoked_at is not null as revoked,
      monthly_limit_usd_micro, amount as spent_usd_micro,
      (select coalesce(sum(amount), 0) from spent)::bigint as total_usd_micro,
      (count(*) filter (where revoked_at is null and not is_studio) over ())::int as keys,
      (select open_requests from balances where account_id = ${accountId}) as open_requests,
      (${constant(monthStart)} + interval '1 month') at time zone 'utc' as resets_at
    from shown
    order by revoked_at is not null,
      amount / nullif(monthly_limit_usd_micro, 0)::float8 desc nulls last, amount desc, id desc
    limit ${limit}`);
}

export interface RunningRow {
  id: string;
  model_id: string;
  kind: 'video' | 'image';
  status: 'IN_QUEUE' | 'IN_PROGRESS';
  quoted_usd_micro: bigint;
  created_at: Date;
  started_at: Date | null;
}

/** Open jobs, newest first. Each state is read by itself, because an index has each in order. */
export function listOpenJobs(
  db: Connection,
  accountId: string,
  limit: number,
): Promise<RunningRow[]> {
  return db.run<RunningRow>(sql`
    select r.id, r.model_id, r.kind, r.status, r.quoted_usd_micro, r.created_at, r.started_at
    from (values ('IN_QUEUE'), ('IN_PROGRESS')) s (status) cross join lateral (
      select id, model_id, kind, status, quoted_usd_micro, created_at, started_at from requests
      where account_id = ${accountId} and status = s.status and status <> 'COMPLETED'
        and kind <> 'text'
      order by id desc limit ${limit}
    ) r order by r.id desc limit ${limit}`);
}

export interface FirstSteps {
  topped_up: boolean;
  has_key: boolean;
  has_request: boolean;
}

export async function readFirstSteps(db: Connection, accountId: string): Promise<FirstSteps> {
  const [row] = await db.run<FirstSteps>(sql`
    select
      exists (select from transfers where account_id = ${accountId}
        and kind in ('deposit', 'adjustment')) as topped_up,
      exists (select from keys where account_id = ${accountId} and not is_studio) as has_key,
      exists (select from requests where account_id = ${accountId}) as has_request`);
  return row!;
}
