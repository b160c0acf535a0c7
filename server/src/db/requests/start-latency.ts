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
