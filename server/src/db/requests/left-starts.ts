import { storableText } from '../../lib/json.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

/** Starts whose answer was lost and after which the next route was called ("left starts"). */

/** The number of left starts with an unknown cost, by upstream. */
export function countLeft(db: Connection): Promise<{ upstream: string; count: number }[]> {
  return db.run<{ upstream: string; count: number }>(sql`
    select upstream, count(*)::int as count from attempts
    where left_at is not null and cost_usd_micro is null
    group by upstream order by upstream`);
}

/** A left call of a chat. Other attempts of chats are not stored. */
export interface LeftCall {
  request_id: string;
  upstream: string;
  model: string;
  /** The key the call was made with, if the upstream has several. */
  key: string | null;
  request_hash: Buffer;
  message: string;
  /** How long ago the call was made. */
  seconds: number;
}

/** Stores a left call before the next route is called, because the left call may cost money. */
export async function insertLeft(db: Connection, call: LeftCall): Promise<void> {
  await db.run(sql`
    insert into attempts (request_id, attempt, upstream, upstream_model, key, class, request_hash,
      outcome, message, created_at, answered_at, left_at)
    select ${call.request_id}, 1 + count(*), ${call.upstream}, ${call.model}, ${call.key}, 'C',
      ${call.request_hash}, 'unknown', ${storableText(call.message.slice(0, 2000))},
      now() - ${call.seconds} * interval '1 s', now(), now()
    from attempts where request_id = ${call.request_id}`);
}
