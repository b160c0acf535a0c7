import { sql, type Connection } from '../../lib/sql/sql.ts';

export interface RunTime {
  model_id: string;
  /** From the first call of the upstream to the end, rounded to tenths of a second. */
  median_seconds: number;
}

/** An odd number has a middle. */
const runsRead = 21;

/** The median time of each model's last finished jobs, of all accounts; none if it has none. */
export function runTimes(db: Connection, model_ids: string[]): Promise<RunTime[]> {
  return db.run<RunTime>(sql`
    select m.id as model_id, round((percentile_cont(0.5) within group (
      order by extract(epoch from last.completed_at - last.started_at)))::numeric, 1)::float8
      as median_seconds
    from unnest(${model_ids}::text[]) m (id)
    cross join lateral (
      select started_at, completed_at from requests
      where model_id = m.id and status = 'COMPLETED' and kind <> 'text' and started_at is not null
      order by completed_at desc limit ${runsRead}
    ) last group by m.id`);
}
