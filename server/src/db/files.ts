import { sql, type Connection } from '../lib/sql.ts';

export interface FileRow {
  id: string;
  account_id: string;
  storage_key: string;
  content_type: string;
  size: bigint;
  sha256: string;
  created_at: Date;
  expires_at: Date;
}

export async function insert(
  db: Connection,
  file: Omit<FileRow, 'created_at' | 'expires_at'> & { ttl_seconds: number },
): Promise<{ created_at: Date; expires_at: Date }> {
  const rows = await db.run<{ created_at: Date; expires_at: Date }>(sql`
    insert into files (id, account_id, storage_key, content_type, size, sha256, expires_at)
    values (${file.id}, ${file.account_id}, ${file.storage_key}, ${file.content_type}, ${file.size},
      ${file.sha256},
      now() + ${file.ttl_seconds} * interval '1 s')
    returning created_at, expires_at`);
  return rows[0]!;
}

/** The account's own files that have not expired, among `ids`. */
export function findLiving(db: Connection, accountId: string, ids: string[]): Promise<FileRow[]> {
  return db.run<FileRow>(sql`
    select id, account_id, storage_key, content_type, size, sha256, created_at, expires_at
      from files
    where id = any(${ids}::uuid[]) and account_id = ${accountId} and expires_at > now()`);
}

/** Takes out expired files and returns where their bytes are. */
export function takeExpired(db: Connection, limit: number): Promise<{ storage_key: string }[]> {
  return db.run<{ storage_key: string }>(sql`
    delete from files where id = any(array(
      select id from files where expires_at <= now()
      order by expires_at limit ${limit} for update skip locked))
    returning storage_key`);
}
