import { rowsOf } from '../../lib/sql/rows-of.ts';
import { rawSql, sql, type Connection, type Transaction } from '../../lib/sql/sql.ts';
import { monthStart } from './month.ts';
import type { Kind } from '../../core/catalog/catalog.ts';

/**
 * Revenue and cost of requests, by the day (UTC) on which they ended. A start that was left for
 * the next route counts on the day it was left, as a cost without a request; a refund counts on the
 * day it was booked, as a charge below zero. Past days are summed up once, because ended requests
 * do not change; newer days are summed when they are asked for.
 */

/** Transactions that began before midnight have ended this long after it. */
const settledAfter = `interval '1 hour'`;
/** The first day that is not summed up yet: today, or yesterday shortly after midnight. */
export const boundary = `date_trunc('day', now() at time zone 'utc' - ${settledAfter})`;
/** The longest period that can be shown, as many days before it, and a few days more. */
const keptDays = 190;

/**
 * Requests that may have cost something. Other failed requests were refused, or failed at an
 * upstream, and upstreams do not bill failed jobs.
 */
const ran = `(r.status <> 'FAILED' or r.error_code in ('outcome_unknown', 'timeout'))`;

/**
 * Requests that ended, starts that were left and refunds that were booked in a period, of one
 * account if its id is given. `done` is null for starts and refunds, so that they count neither as
 * completed nor as failed; so it is for jobs that were cancelled while they ran.
 */
export const entries = (during: (at: string) => string, more = '', account?: string) => {
  // Each table has an index of its own for the rows of an account.
  const own = (table: string) =>
    account === undefined ? more : `and ${table}.account_id = ${account} ${more}`;
  return `
  select r.id as request_id, s.created_at as at,
    (s.created_at at time zone 'utc')::date as day, r.account_id, r.key_id, r.person_id,
    r.kind, r.model_id, r.upstream, nullif(r.status, 'CANCELLED') = 'COMPLETED' as done,
    case when r.status <> 'CANCELLED' or r.charged_usd_micro > 0 then r.charged_usd_micro end
      as charged, s.cost_usd_micro as cost, ${ran} as ran, s.input_tokens, s.output_tokens,
    s.cached_tokens, s.reasoning_tokens
  from request_results s join requests r on r.id = s.request_id
  where ${during('s.created_at')} ${own('s')}
  union all
  select r.id, a.left_at, (a.left_at at time zone 'utc')::date, r.account_id, r.key_id,
    r.person_id, r.kind, r.model_id, a.upstream, -- guard: left-start-costs-there (off: null)
    null, null, a.cost_usd_micro, true, null, null, null, null
  from attempts a join requests r on r.id = a.request_id
  where a.left_at is not null and ${during('a.left_at')} ${own('r')}
  union all
  select r.id, t.created_at, (t.created_at at time zone 'utc')::date, r.account_id, r.key_id,
    r.person_id, r.kind, r.model_id, r.upstream, null, -t.amount_usd_micro, null, false, null,
    null, null, null
  from transfers t join requests r on r.id = t.refunded_id
  where t.kind = 'deposit' and t.refunded_id is not null and ${during('t.created_at')}
    ${own('t')}`;
};

/** Any number will do, as long as every version of the service uses the same one. */
const rollUpLock = 770_219_011;

/** Sums up the first past days that are not summed up yet, at most `most`. Returns their number. */
export async function rollUp(tx: Transaction, most: number): Promise<number> {
  await tx.run(sql`select pg_advisory_xact_lock(${rollUpLock})`);
  // The best plan of the insert below depends on how many rows its days have, and a generic plan
  // does not know the days.
  await tx.run(rawSql('set local plan_cache_mode = force_custom_plan'));
  const missing = await tx.run<{ day: string }>(
    rawSql(
      `select to_char(d, 'YYYY-MM-DD') as day
      from generate_series(${boundary} - interval '${keptDays} days',
        ${boundary} - interval '1 day', interval '1 day') d
      where d::date not in (select day from revenue_days) order by d limit $1`,
      [most],
    ),
  );
  if (missing.length === 0) return 0;
  const days = missing.map(({ day }) => day);
  await tx.run(sql`insert into revenue_days (day) select unnest(${days}::date[])`);
  const ended = entries(
    (at) => `${at} >= $1::date::timestamp at time zone 'utc'
      and ${at} < ($2::date + 1)::timestamp at time zone 'utc'
      and (${at} at time zone 'utc')::date = any($3::date[])`,
  );
  await tx.run(
    rawSql(
      `with e as materialized (${ended}), by_model as (
        insert into revenue (day, kind, model_id, upstream, completed, failed, charged_usd_micro,
          cost_usd_micro, uncosted)
        select day, kind, model_id, upstream, ${sums},
          ${uncosted}
        from e group by day, kind, model_id, upstream
      )
      insert into spending (day, account_id, completed, failed, charged_usd_micro, cost_usd_micro)
      select day, account_id, ${sums} from e group by day, account_id`,
      [days[0], days.at(-1), `{${days.join(',')}}`],
    ),
  );
  return days.length;
}

/** The number of jobs that ran, or may have run, at an unknown cost. */
const uncosted = `count(*) filter (where ran and cost is null)`;

export const chargeSums = `count(*) filter (where done), count(*) filter (where not done),
  coalesce(sum(charged), 0)::bigint`;
export const sums = `${chargeSums}, coalesce(sum(cost), 0)::bigint`;

/** Columns that add up the stored sums of past days and the requests of newer days. */
const totals = `sum(completed)::bigint as completed, sum(failed)::bigint as failed,
  sum(charged_usd_micro)::bigint as charged_usd_micro,
  sum(cost_usd_micro)::bigint as cost_usd_micro`;

interface Sum {
  completed: bigint;
  failed: bigint;
  charged_usd_micro: bigint;
  cost_usd_micro: bigint;
}

export interface RevenueRow extends Sum {
  day: string;
  kind: Kind;
  model_id: string;
  upstream: string;
  /** The number of jobs that ran, or may have run, at an unknown cost. */
  uncosted: bigint;
}

type DayRow = Sum & Pick<RevenueRow, 'day' | 'uncosted'>;

export interface SpendingRow extends Sum {
  account_id: string;
  email: string;
  name: string | null;
}

/** The beginning of the first of the last `days` days; 1: today. */
const from = (days: number) =>
  `date_trunc('day', now() at time zone 'utc') - interval '${Math.floor(days) - 1} days'`;

/** Entries of days that are not summed up yet. */
const fresh = (begin: string, more?: string) =>
  entries((at) => `${at} >= greatest(${boundary}, ${begin}) at time zone 'utc'`, more);

/** By day, kind, model and upstream, for the last `days` days including today. */
export function readRevenue(db: Connection, days: number): Promise<RevenueRow[]> {
  return db.run<RevenueRow>(
    rawSql(`
    select to_char(day, 'YYYY-MM-DD') as day, kind, model_id, upstream, completed, failed,
      charged_usd_micro, cost_usd_micro, uncosted
    from revenue where day >= ${from(days)} and day < ${boundary}
    union all
    select to_char(day, 'YYYY-MM-DD'), kind, model_id, upstream, ${sums},
      ${uncosted}
    from (${fresh(from(days))}) e group by day, kind, model_id, upstream`),
  );
}

/** By day, for the `days` days before the last `days` days: they are all summed up. */
export function readRevenueBefore(db: Connection, days: number): Promise<DayRow[]> {
  return db.run<DayRow>(
    rawSql(`
    select to_char(day, 'YYYY-MM-DD') as day, ${totals}, sum(uncosted)::bigint as uncosted
    from revenue where day >= ${from(2 * days)} and day < ${from(days)}
    group by revenue.day`),
  );
}

/** Entries of the current hour and of so many hours before it. */
const ofHours = (before: number) =>
  entries(
    (at) => `${at} >= (date_trunc('hour', now() at time zone 'utc')
      - interval '${Math.floor(before)} hours') at time zone 'utc'`,
  );

/**
 * As `readRevenue`, by hours instead of days: `day` is the first moment of an hour, in ISO 8601.
 */
export function readRevenueOfHours(db: Connection, hours: number): Promise<RevenueRow[]> {
  return db.run<RevenueRow>(
    rawSql(`
    select to_char(hour, 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"') as day, kind, model_id, upstream,
      completed, failed, charged_usd_micro, cost_usd_micro, uncosted
    from (
      select date_trunc('hour', at at time zone 'utc'), kind, model_id, upstream, ${sums},
        ${uncosted}
      from (${ofHours(hours - 1)}) e group by 1, kind, model_id, upstream
    ) s (hour, kind, model_id, upstream, completed, failed, charged_usd_micro, cost_usd_micro,
      uncosted)`),
  );
}

/** The accounts that were charged most in the last `days` days; 1: in the last 24 hours. */
export function listTopAccounts(
  db: Connection,
  days: number,
  limit: number,
): Promise<SpendingRow[]> {
  const isHours = days === 1;
  const stored = isHours ? 'false' : `day >= ${from(days)} and day < ${boundary}`;
  const newer = isHours ? ofHours(23) : fresh(from(days));
  return db.run<SpendingRow>(
    rawSql(
      `select t.account_id, a.email, a.name, t.completed, t.failed, t.charged_usd_micro,
        t.cost_usd_micro
      from (
      select account_id, ${totals}
      from (
        select account_id, completed, failed, charged_usd_micro, cost_usd_micro
        from spending where ${stored}
        union all
        select account_id, ${sums} from (${newer}) e group by account_id
      ) both_parts group by account_id
      having sum(charged_usd_micro) <> 0 or sum(cost_usd_micro) > 0
      order by sum(charged_usd_micro) desc, account_id limit $1
    ) t join accounts a on a.id = t.account_id
    order by t.charged_usd_micro desc, t.account_id`,
      [limit],
    ),
  );
}

export interface ModelRow extends Sum {
  upstream: string;
  uncosted: bigint;
}

/** One model in the last `days` days, by upstream. */
export function readRevenueOf(db: Connection, model_id: string, days: number): Promise<ModelRow[]> {
  return db.run<ModelRow>(
    rawSql(
      `select upstream, ${totals}, sum(uncosted)::bigint as uncosted
      from (
        select upstream, completed, failed, charged_usd_micro, cost_usd_micro, uncosted
        from revenue where day >= ${from(days)} and day < ${boundary} and model_id = $1
        union all
        select upstream, ${sums}, ${uncosted}
        from (${fresh(from(days), 'and r.model_id = $1')}) e group by upstream
      ) both_parts group by upstream order by upstream`,
      [model_id],
    ),
  );
}

export interface UpstreamCosts {
  upstream: string;
  /** Since midnight UTC, and since the first of the month. */
  today_usd_micro: bigint;
  month_usd_micro: bigint;
  /** This month: the number of jobs that ran, or may have run, at an unknown cost. */
  uncosted: bigint;
}

/** The operator's costs at each upstream. */
export function readCostsByUpstream(db: Connection): Promise<UpstreamCosts[]> {
  const today = `date_trunc('day', now() at time zone 'utc')`;
  return db.run<UpstreamCosts>(
    rawSql(`
    select upstream, coalesce(sum(cost) filter (where day = ${today}), 0)::bigint
        as today_usd_micro,
      coalesce(sum(cost), 0)::bigint as month_usd_micro, sum(uncosted)::bigint as uncosted
    from (
      select day, upstream, cost_usd_micro as cost, uncosted
      from revenue where day >= ${monthStart} and day < ${boundary}
      union all
      select day, upstream, sum(cost)::bigint, ${uncosted}
      from (${fresh(monthStart)}) e group by day, upstream
    ) both_parts group by upstream`),
  );
}

/** The outcome of a request, or of a start that was left for the next route. */
export interface OutcomeId {
  request_id: string;
  /** The attempt of the left start; 0: the outcome of the request itself. */
  attempt: number;
}

/**
 * Books this cost for each of these outcomes whose cost was unknown, and returns the booked ones.
 * If their days are summed up already, the sums are increased too.
 */
export async function bookCosts(
  tx: Transaction,
  outcomes: OutcomeId[],
  cost: bigint,
): Promise<OutcomeId[]> {
  await tx.run(sql`select pg_advisory_xact_lock(${rollUpLock})`);
  return tx.run<OutcomeId>(sql`
    with d as materialized (
      select * from ${rowsOf(outcomes, { request_id: 'uuid', attempt: 'int' })} as d
    ), ends as (
      update request_results s set cost_usd_micro = ${cost} from d
      join requests r on r.id = d.request_id
      where d.attempt = 0 and s.request_id = d.request_id and s.cost_usd_micro is null
      returning s.request_id, d.attempt, (s.created_at at time zone 'utc')::date as day, r.kind,
        r.model_id, r.upstream, r.account_id
    ), starts as (
      update attempts a set cost_usd_micro = ${cost} from d
      join requests r on r.id = d.request_id
      where a.request_id = d.request_id and a.attempt = d.attempt and a.left_at is not null
        and a.cost_usd_micro is null -- guard: left-start-booked-once
      returning a.request_id, d.attempt, (a.left_at at time zone 'utc')::date as day, r.kind,
        r.model_id, a.upstream, r.account_id
    ), booked as materialized (
      select * from ends union all select * from starts
    ), of_model as (
      update revenue v set cost_usd_micro = v.cost_usd_micro + b.n * ${cost},
        uncosted = greatest(v.uncosted - b.n, 0)
      from (select day, kind, model_id, upstream, count(*) as n from booked group by 1, 2, 3, 4) b
      where v.day = b.day and v.kind = b.kind and v.model_id = b.model_id
        and v.upstream = b.upstream
    ), of_account as (
      update spending v set cost_usd_micro = v.cost_usd_micro + b.n * ${cost}
      from (select day, account_id, count(*) as n from booked group by 1, 2) b
      where v.day = b.day and v.account_id = b.account_id
    )
    select request_id, attempt from booked`);
}
