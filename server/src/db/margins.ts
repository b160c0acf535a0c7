import type { Status } from '../core/request.ts';
import { sql, type Connection } from '../lib/sql.ts';

/** A request with what it brought and what it cost: for the operator only. */
export interface MarginRow {
  id: string;
  model_id: string;
  kind: 'video' | 'image' | 'text';
  upstream: string;
  status: Status;
  quoted_usd_micro: bigint;
  charged_usd_micro: bigint | null;
  /** Null: not known, or it has not ended. */
  cost_usd_micro: bigint | null;
  error_code: string | null;
  created_at: Date;
  completed_at: Date | null;
}

/** One account's requests, newest first. */
export function requestsOf(
  db: Connection,
  page: { account_id: string; below_id: string | null; limit: number },
): Promise<MarginRow[]> {
  return db.run<MarginRow>(sql`
    select r.id, r.model_id, r.kind, r.upstream, r.status, r.quoted_usd_micro,
      r.charged_usd_micro, s.cost_usd_micro, r.error_code, r.created_at, r.completed_at
    from (
      select * from requests where account_id = ${page.account_id}
        and id < coalesce(${page.below_id}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      order by id desc limit ${page.limit}
    ) r left join request_results s on s.request_id = r.id order by r.id desc`);
}
