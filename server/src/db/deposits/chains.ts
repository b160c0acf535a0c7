import type { BlockRange } from '../../core/deposit/transfer.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

/** The progress of reading a blockchain, and when a worker reads it next. */
export interface ChainRow extends Progress {
  name: string;
  chain_id: bigint;
  scanned_block_at: Date | null;
  head_height: bigint | null;
  read_at: Date | null;
  wake_at: Date;
  attempt: number;
  failures: number;
  last_error: string | null;
  refused_why: string | null;
  stopped_why: string | null;
  /** Age of the newest final block that was read; null: none was read. */
  lag_seconds: number | null;
  /** Time since the last read without an error; null: there was none. */
  unread_seconds: number | null;
}

/** The three heights are null until the first read. */
interface Progress {
  start_height: bigint | null;
  scanned_height: bigint | null;
  scanned_hash: string | null;
  rescanned_height: bigint | null;
  /** The blocks that remain to be read once more for an operator; both null: none. */
  rescan_from: bigint | null;
  rescan_to: bigint | null;
}

/** A read that a worker has begun. Only the newest attempt of a chain may write. */
export interface ChainClaim extends Progress {
  name: string;
  chain_id: bigint;
  attempt: number;
  failures: number;
}

/** Adds the chains that have no row yet. */
export async function addMany(
  db: Connection,
  chains: { name: string; chain_id: bigint }[],
): Promise<void> {
  await db.run(sql`
    insert into chains (name, chain_id)
    select name, chain_id from ${rowsOf(chains, { name: 'text', chain_id: 'bigint' })} as d
    order by name
    on conflict do nothing`);
}

export function list(db: Connection): Promise<ChainRow[]> {
  return db.run<ChainRow>(sql`
    select name, chain_id, start_height, scanned_height, scanned_hash, scanned_block_at,
      rescanned_height, rescan_from, rescan_to, head_height, read_at, wake_at,
      attempt, failures, last_error, refused_why, stopped_why,
      extract(epoch from now() - scanned_block_at)::float8 as lag_seconds,
      extract(epoch from now() - read_at)::float8 as unread_seconds
    from chains order by name`);
}

/** Another name under which a chain was read; null: there is none. */
export async function nameOf(
  db: Connection,
  { name, chain_id }: Pick<ChainRow, 'name' | 'chain_id'>,
): Promise<string | null> {
  const [row] = await db.run<{ name: string }>(sql`
    select name from chains
    where chain_id = ${chain_id} and name <> ${name} and start_height is not null limit 1`);
  return row?.name ?? null;
}

/** Those of the given chains on which a deposit would be noticed. */
export async function findReadable(db: Connection, names: readonly string[]): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  const rows = await db.run<{ name: string }>(sql`
    select name from chains
    where name = any(${names}::text[]) and scanned_height is not null and refused_why is null
      and stopped_why is null`);
  return new Set(rows.map(({ name }) => name));
}

/** The newest block of each chain at its last read. */
export async function readHeads(db: Connection): Promise<Map<string, bigint>> {
  const rows = await db.run<{ name: string; head_height: bigint }>(sql`
    select name, head_height from chains where head_height is not null`);
  return new Map(rows.map(({ name, head_height }) => [name, head_height]));
}

/** Claims the due chains of these names, each for one worker, until the lease ends. */
export function claimDue(
  db: Connection,
  names: readonly string[],
  leaseSeconds: number,
): Promise<ChainClaim[]> {
  return db.run<ChainClaim>(sql`
    update chains set attempt = attempt + 1, wake_at = now() + ${leaseSeconds} * interval '1 s'
    where name in (
      select name from chains
      where name = any(${names}::text[]) and wake_at <= now() and stopped_why is null
      order by wake_at for update skip locked)
    returning name, chain_id, attempt, failures, start_height, scanned_height, scanned_hash,
      rescanned_height, rescan_from, rescan_to`);
}

/** Prolongs the lease of a read that takes long. */
export async function renew(
  db: Connection,
  { name, attempt }: Pick<ChainClaim, 'name' | 'attempt'>,
  leaseSeconds: number,
): Promise<void> {
  await db.run(sql`
    update chains set wake_at = now() + ${leaseSeconds} * interval '1 s'
    where name = ${name} and attempt = ${attempt} and wake_at > now()`);
}

/** Gives up a read that has not ended, so that another worker begins at once. */
export async function release(
  db: Connection,
  { name, attempt }: Pick<ChainClaim, 'name' | 'attempt'>,
): Promise<void> {
  await db.run(sql`
    update chains set wake_at = now() where name = ${name} and attempt = ${attempt}`);
}

/**
 * Ends the stop of a chain, which is then due at once. `lock` has locked the chain, and it was read
 * before. `from`: the height from which blocks are read again; null: reading continues where it
 * stopped.
 */
export async function resume(db: Connection, name: string, from: bigint | null): Promise<void> {
  await db.run(sql`
    update chains set
      start_height = least(start_height, ${from}::bigint),
      scanned_height = least(scanned_height, ${from}::bigint - 1),
      rescanned_height = least(rescanned_height, ${from}::bigint - 1),
      scanned_hash = null,
      stopped_why = null,
      failures = 0,
      attempt = attempt + 1,
      wake_at = now()
    where name = ${name}`);
}

/** Locks the chain's row. */
export async function lock(
  db: Connection,
  name: string,
): Promise<Pick<ChainRow, 'scanned_height' | 'stopped_why'> | null> {
  const [row] = await db.run<Pick<ChainRow, 'scanned_height' | 'stopped_why'>>(sql`
    select scanned_height, stopped_why from chains where name = ${name} for update`);
  return row ?? null;
}

/** Sets the blocks to read once more for an operator; null: none. The chain is due at once. */
export async function setRescan(
  db: Connection,
  name: string,
  range: BlockRange | null,
): Promise<void> {
  await db.run(sql`
    update chains set rescan_from = ${range?.from ?? null}, rescan_to = ${range?.to ?? null},
      attempt = attempt + 1,
      wake_at = now()
    where name = ${name}`);
}

/** Locks the chain's row. False: a newer attempt has begun, so this attempt may write nothing. */
export async function lockAttempt(
  db: Connection,
  { name, attempt }: Pick<ChainClaim, 'name' | 'attempt'>,
): Promise<boolean> {
  const rows = await db.run(sql`
    select from chains where name = ${name} and attempt = ${attempt} for update`);
  return rows.length > 0;
}

/** The progress after a read. No height is lower than before the read. */
export interface ReadState {
  start_height: bigint;
  scanned_height: bigint;
  scanned_hash: string | null;
  scanned_block_at: Date | null;
  rescanned_height: bigint;
  /** The blocks that remain to be read once more for an operator; null: none. */
  rescan: BlockRange | null;
  /** Why not all was read; null: no error. */
  last_error: string | null;
  /** The number of reads in succession that left a deposit for the next one; default 0. */
  failures?: number;
  head_height: bigint;
  /** Seconds until the next read. */
  wake_seconds: number;
}

export async function noteRead(db: Connection, name: string, read: ReadState): Promise<void> {
  await db.run(sql`
    update chains set
      start_height = ${read.start_height},
      scanned_height = ${read.scanned_height},
      scanned_hash = ${read.scanned_hash},
      scanned_block_at = coalesce(${read.scanned_block_at}::timestamptz, scanned_block_at),
      rescanned_height = ${read.rescanned_height},
      rescan_from = ${read.rescan?.from ?? null},
      rescan_to = ${read.rescan?.to ?? null},
      head_height = greatest(head_height, ${read.head_height}),
      read_at = now(),
      wake_at = now() + ${read.wake_seconds}::float8 * interval '1 s',
      failures = ${read.failures ?? 0},
      last_error = ${read.last_error?.slice(0, 2000) ?? null},
      refused_why = null
    where name = ${name}`);
}

/** Why a read failed. */
export interface ReadFailure {
  message: string;
  wake_seconds: number;
  /** Set for a wrong setting: no address is shown until a read succeeds. */
  refused_why: string | null;
  /** Set if the chain is not read again until an operator resumes it. */
  stopped_why: string | null;
}

/** Records a failed read. Returns false and writes nothing if a newer attempt has begun. */
export async function noteFailure(
  db: Connection,
  { name, attempt }: Pick<ChainClaim, 'name' | 'attempt'>,
  failure: ReadFailure,
): Promise<boolean> {
  const rows = await db.run(sql`
    update chains set
      failures = failures + 1,
      last_error = ${failure.message.slice(0, 2000)},
      refused_why = coalesce(${failure.refused_why}::text, refused_why),
      stopped_why = ${failure.stopped_why},
      wake_at = now() + ${failure.wake_seconds}::float8 * interval '1 s'
    where name = ${name} and attempt = ${attempt} returning name`);
  return rows.length > 0;
}
