import { firstId } from '../../lib/id.ts';
import { constant, sql, type Connection, type Database } from '../../lib/sql/sql.ts';
import type { Erasure } from '../accounts/erasures.ts';
import { cleared } from './requests.ts';

/** Requests whose content is deleted because a person was erased. */

/** Content is left. Rows without any are not written again while others are still open. */
const hasContent = constant(`(r.cleared_at is null
      or exists (select from request_inputs i where i.request_id = r.id
        and num_nonnulls(i.metadata, i.caller_id, i.traceparent, i.door) > 0)
      or exists (select from request_results s where s.request_id = r.id
        and s.error_message <> 'Erased.')
      or exists (select from attempts a where a.request_id = r.id
        and num_nonnulls(a.handle, a.message, a.progress) > 0))`);

/** The next with content, in the order of their ids. Over: ended, and nothing is due. */
export function listErased(
  db: Connection,
  { account_id, person_id, is_closed, after_id }: Erasure,
  limit: number,
): Promise<{ id: string; is_over: boolean }[]> {
  const after = after_id ?? firstId;
  if (is_closed)
    return db.run<{ id: string; is_over: boolean }>(sql`
      select id, completed_at is not null and wake_at is null as is_over from requests r
      where account_id = ${account_id} and id > ${after}::uuid and ${hasContent}
      order by id limit ${limit}`);
  return db.run<{ id: string; is_over: boolean }>(sql`
    select id, completed_at is not null and wake_at is null as is_over from requests r
    where account_id = ${account_id} and person_id = ${person_id} and id > ${after}::uuid
      and ${hasContent}
    order by id limit ${limit}`);
}

/**
 * Deletes all that these requests say of a person, as far as they are over: what the retention
 * deletes, and metadata, the caller's own number and the words of a failure. The row, its quote and
 * its measures stay for the books.
 */
export async function eraseMany(db: Database, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.tx(async (tx) => {
    tx.send(sql`
      with due as (
        select id from requests where id = any(${ids}::uuid[])
          and completed_at is not null and wake_at is null for update
      ), asked as (
        update request_inputs i set metadata = null, caller_id = null,
          traceparent = null, door = null
        from due where i.request_id = due.id
      ), answered as (
        update request_results s set error_message = 'Erased.', error_details = null
        from due where s.request_id = due.id and s.error_message is not null
      )
      update attempts a set handle = null, message = null, progress = null
      from due where a.request_id = due.id and a.left_at is not null`);
    await tx.run(sql`
      with due as (
        update requests set cleared_at = coalesce(cleared_at, now())
        where id = any(${ids}::uuid[]) and completed_at is not null and wake_at is null
        returning id, account_id
      ), ${cleared}
      select id from due`);
  });
}
