import { lastId } from '../../lib/id.ts';
import type { Json } from '../../lib/json.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { sql, type Connection, type Database, type Fragment } from '../../lib/sql/sql.ts';

const fileColumns = columns('f', {
  id: of<string>(),
  account_id: of<string>(),
  storage_key: of<string>(),
  content_type: of<string>(),
  size: of<bigint>(),
  sha256: of<string>(),
  /** As the caller sent it; null: nothing. */
  metadata: of<Json | null>(),
  created_at: of<Date>(),
  expires_at: of<Date>(),
});
export type FileRow = RowOf<typeof fileColumns>;

/** The unexpired files of an account, and the space that they take. */
export interface FilesHeld {
  files: number;
  bytes: bigint;
  /** Null if there is no file. */
  first_expires_at: Date | null;
  /** False if the account has never had any money. */
  had_money: boolean;
}

/** Files beyond `maxFiles` are not read. */
function fromUnexpired(accountId: string, maxFiles: number): Fragment {
  return (bind) => `(select size, expires_at from files
    where account_id = ${bind(accountId)} and expires_at > now()
    order by expires_at limit ${bind(maxFiles)}) f`;
}

export async function readFilesHeld(
  db: Connection,
  accountId: string,
  maxFiles: number,
): Promise<FilesHeld> {
  const [row] = await db.run<FilesHeld>(sql`
    select count(*)::int as files, coalesce(sum(size), 0)::bigint as bytes,
      min(expires_at) as first_expires_at,
      coalesce((select credits_posted > 0 from balances
        where account_id = ${accountId}), false) as had_money
    from ${fromUnexpired(accountId, maxFiles)}`);
  return row!;
}

/**
 * Inserts a file. Returns null if the account has `max_files` unexpired files, if they would take
 * more than `max_bytes` together, or if the file exists already. The account is locked, so that two
 * uploads cannot both count the same free space.
 */
export function insert(
  db: Database,
  file: Omit<FileRow, 'created_at' | 'expires_at'> & {
    ttl_seconds: number;
    max_bytes: number;
    max_files: number;
  },
): Promise<FileRow | null> {
  const metadata = file.metadata && JSON.stringify(file.metadata);
  return db.tx(async (tx) => {
    tx.send(sql`select id from accounts where id = ${file.account_id} for no key update`);
    const rows = await tx.run(sql`
      insert into files as f
        (id, account_id, storage_key, content_type, size, sha256, metadata, expires_at)
      select ${file.id}::uuid, ${file.account_id}::uuid, ${file.storage_key}, ${file.content_type},
        ${file.size}::bigint, ${file.sha256}, ${metadata}::json,
        now() + ${file.ttl_seconds} * interval '1 s'
      from ${fromUnexpired(file.account_id, file.max_files)}
      having ${file.size}::bigint + coalesce(sum(size), 0) <= ${file.max_bytes}::bigint
        and count(*) < ${file.max_files}::int
      on conflict (id) do nothing returning ${fileColumns}`);
    return rows[0] ?? null;
  });
}

/** An unexpired file of any account, or null. */
export async function findOne(db: Connection, id: string): Promise<FileRow | null> {
  const [row] = await db.run(sql`
    select ${fileColumns} from files f where id = ${id} and expires_at > now()`);
  return row ?? null;
}

/** The given files that belong to the account and have not expired. */
export function findLiving(db: Connection, accountId: string, ids: string[]): Promise<FileRow[]> {
  return db.run(sql`
    select ${fileColumns} from files f
    where id = any(${ids}::uuid[])
      and account_id = ${accountId} -- guard: own-input-files
      and expires_at > now()`);
}

/** Unexpired files of the account, newest first. `below`: the last id of the page before. */
export function page(
  db: Connection,
  accountId: string,
  { below, limit }: { below: string | null; limit: number },
): Promise<FileRow[]> {
  return db.run(sql`
    select ${fileColumns} from files f
    where account_id = ${accountId} and id < ${below ?? lastId}::uuid and expires_at > now()
    order by id desc limit ${limit}`);
}

/** From now on nobody finds these files. */
export async function expireMany(db: Connection, ids: string[]): Promise<void> {
  await db.run(sql`
    update files set expires_at = now() where id = any(${ids}::uuid[]) and expires_at > now()`);
}

/**
 * Claims expired files, each for one process. Others skip them for `againSeconds`, so that a file
 * whose bytes cannot be removed is tried later and does not delay the rest.
 */
export function claimExpired(
  db: Connection,
  limit: number,
  againSeconds: number,
): Promise<{ id: string; storage_key: string }[]> {
  return db.run<{ id: string; storage_key: string }>(sql`
    update files set put_off_until = now() + ${againSeconds} * interval '1 s'
    where id = any(array(
      select id from files where coalesce(put_off_until, expires_at) <= now()
      order by coalesce(put_off_until, expires_at) limit ${limit} for update skip locked))
    returning id, storage_key`);
}

/** Deletes the rows of files whose bytes are deleted. */
export async function removeMany(db: Connection, ids: string[]): Promise<void> {
  await db.run(sql`delete from files where id = any(${ids}::uuid[])`);
}
