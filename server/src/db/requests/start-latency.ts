import { leastIdAt } from '../../lib/id.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

/**
 * Recent results and latencies of upstreams. Ids contain the time, so recent rows are found by id.
 */

export interface RunLatency {
  upstream: string;
  completed: number;
  /** Failed for any other reason than a refusal, such as a time-out or an unknown outcome. */
  failed: number;
  /** Refused for good, for a bad input or by the upstream's policy. */
  rejected: number;
  /** Over completed runs, from the first call to the end. Null if no run was completed. */
  run_median_ms: number | null;
  run_p95_ms: number | null;
}

export interface StartLatency {
  upstream: string;
  starts: number;
  /** Refused, or without a clear answer. */
  refused: number;
  /**
   * Median time from the record of a start to its handle, over accepted starts. Null if no start
   * was accepted.
   */
  start_median_ms: number | null;
  start_p95_ms: number | null;
}

/** Maximum number of requests to read, newest first: enough for a stable result. */
export const latencyRowsMax = 10_000;

/** Requests made in the last `seconds`, by upstream. */
export function runLatencies(db: Connection, seconds: number, now: number): Promise<RunLatency[]> {
  return db.run<RunLatency>(sql`
    select upstream, count(*) filter (where status = 'COMPLETED')::int as completed,
      count(*) filter (where status = 'FAILED' and error_code <> 'upstream_rejected')::int
        as failed,
      count(*) filter (where error_code = 'upstream_rejected')::int as rejected,
      percentile_cont(0.5) within group (order by ms) as run_median_ms,
      percentile_cont(0.95) within group (order by ms) as run_p95_ms
    from (
      select upstream, status, error_code, case when status = 'COMPLETED'
        then extract(epoch from completed_at - started_at)::float8 * 1000 end as ms
      from requests where id >= ${leastIdAt(now - seconds * 1000)} and started_at is not null
      order by id desc limit ${latencyRowsMax}
    ) recent group by upstream`);
}

export interface Hour {
  from: Date;
  completed: number;
  failed: number;
  rejected: number;
  run_median_ms: number | null;
  run_p95_ms: number | null;
  cost_usd_micro: bigint;
}

const hoursShown = 24;

/** The last 24 hours of an upstream, oldest first, over the newest requests of all upstreams. */
export function readHours(db: Connection, upstream: string, now: number): Promise<Hour[]> {
  const since = now - hoursShown * 3_600_000;
  return db.run<Hour>(sql`
    with recent as (
      select id, upstream, status, error_code, created_at, started_at, completed_at
      from requests where id >= ${leastIdAt(since)} and started_at is not null
      order by id desc limit ${latencyRowsMax}
    ), ended as (
      select date_trunc('hour', r.created_at) as hour, r.status, r.error_code, s.cost_usd_micro,
        case when r.status = 'COMPLETED'
          then extract(epoch from r.completed_at - r.started_at)::float8 * 1000 end as ms
      from recent r left join request_results s on s.request_id = r.id
      where r.upstream = ${upstream}
    )
    select h.hour as from, count(*) filter (where status = 'COMPLETED')::int as completed,
      count(*) filter (where status = 'FAILED' and error_code <> 'upstream_rejected')::int
        as failed,
      count(*) filter (where error_code = 'upstream_rejected')::int as rejected,
      percentile_cont(0.5) within group (order by ms) as run_median_ms,
      percentile_cont(0.95) within group (order by ms) as run_p95_ms,
      coalesce(sum(cost_usd_micro), 0)::bigint as cost_usd_micro
    from generate_series(date_trunc('hour', ${new Date(since)}::timestamptz) + interval '1 hour',
      date_trunc('hour', ${new Date(now)}::timestamptz), interval '1 hour') as h (hour)
    left join ended e on e.hour = h.hour group by h.hour order by h.hour`);
}

/** Starts of jobs, without chats, in the last `seconds`, by upstream. */
export function startLatencies(
  db: Connection,
  seconds: number,
  now: number,
): Promise<StartLatency[]> {
  return db.run<StartLatency>(sql`
    select upstream, count(*)::int as starts,
      count(*) filter (where outcome in ('not_accepted', 'unknown', 'missing'))::int as refused,
      percentile_cont(0.5) within group (order by ms) as start_median_ms,
      percentile_cont(0.95) within group (order by ms) as start_p95_ms
    from (
      select a.upstream, a.outcome, case when a.outcome = 'accepted'
        then extract(epoch from a.answered_at - a.created_at)::float8 * 1000 end as ms
      from attempts a join requests r on r.id = a.request_id and r.kind <> 'text'
      where a.request_id >= ${leastIdAt(now - seconds * 1000)}
        and r.id >= ${leastIdAt(now - seconds * 1000)}
      order by a.request_id desc, a.attempt desc limit ${latencyRowsMax}
    ) recent group by upstream`);
}
