import { sql, type Connection } from '../lib/sql/sql.ts';

/**
 * The keys of stored objects that are in use: by an output that has not been deleted, or by an
 * uploaded file. With them the `owners` that this database has: accounts, and requests that have
 * ended, because others may get more outputs.
 */
export async function findNames(
  db: Connection,
  { owners, keys }: { owners: string[]; keys: string[] },
): Promise<Set<string>> {
  const rows = await db.run<{ found: string }>(sql`
    select id::text as found from accounts where id = any(${owners}::uuid[])
    union all
    select id::text from requests where id = any(${owners}::uuid[]) and completed_at is not null
    union all
    select o.storage_key from outputs o join requests r on r.id = o.request_id
    where o.request_id = any(${owners}::uuid[]) and r.expires_at is not null
    union all
    select f.storage_key from unnest(${keys}::text[]) as key join files f on f.storage_key = key
    where f.account_id = any(${owners}::uuid[])`);
  return new Set(rows.map(({ found }) => found));
}
