import type pg from 'pg';
import { from, to, type CopyStreamQuery, type CopyToStreamQuery } from 'pg-copy-streams';
import type { Kind } from '../core/catalog/catalog.ts';
import type { Migration, SnapshotTable } from '../core/snapshot.ts';
import { rawSql, sql, type Connection, type Transaction } from '../lib/sql/sql.ts';

/**
 * Copies whole tables out of one database and into another, whatever the schema. Names come from
 * the database's catalog. Values travel as the text that PostgreSQL itself writes and reads, so
 * nothing is rounded; each connection's settings make it the same text on every server.
 */

export async function listMigrations(db: Connection): Promise<Migration[]> {
  return db.run<Migration>(sql`select number, name, sha256 from migrations order by number`);
}

/**
 * All tables of the schema that survive a crash, except tables that describe the database itself,
 * or how far it was proved. Referenced tables come first. Computed columns are left out.
 */
export async function listKeptTables(db: Connection): Promise<SnapshotTable[]> {
  const tables = await db.run<SnapshotTable>(sql`
    select c.relname as name, json_agg(a.attname order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and not c.relispartition
      and c.relpersistence = 'p'
      and c.relname not in ('migrations', 'installation', 'audit_results', 'audit_progress')
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      and not exists (select from pg_depend d
        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    group by c.oid, c.relname order by c.relname`);
  const references = await db.run<{ child: string; parent: string }>(sql`
    select child.relname as child, parent.relname as parent from pg_constraint k
    join pg_class child on child.oid = k.conrelid join pg_class parent on parent.oid = k.confrelid
    where k.contype = 'f' and k.connamespace = current_schema()::regnamespace
      and k.conrelid <> k.confrelid`);
  return parentsFirst(tables, references);
}

function parentsFirst(
  tables: SnapshotTable[],
  references: { child: string; parent: string }[],
): SnapshotTable[] {
  const sorted: SnapshotTable[] = [];
  let left = tables;
  while (left.length > 0) {
    const waiting = new Set(left.map(({ name }) => name));
    const blocked = new Set(
      references.filter(({ parent }) => waiting.has(parent)).map(({ child }) => child),
    );
    const free = left.filter(({ name }) => !blocked.has(name));
    if (free.length === 0)
      throw new Error(`tables reference each other: ${[...waiting].join(', ')}`);
    sorted.push(...free);
    left = left.filter(({ name }) => blocked.has(name));
  }
  return sorted;
}

/**
 * The rows of a table in the text form of COPY. Their number is known once the next statement is
 * answered.
 */
export function copyOut(client: pg.Client, table: SnapshotTable): CopyToStreamQuery {
  return client.query(to(`copy ${target(table)} to stdout`));
}

/** Reads what `copyOut` wrote, and counts the rows. */
export function copyIn(client: pg.Client, table: SnapshotTable): CopyStreamQuery {
  return client.query(from(`copy ${target(table)} from stdin`));
}

function target({ name, columns }: SnapshotTable): string {
  return `${quoteName(name)} (${columns.map(quoteName).join(', ')})`;
}

/** Keeps everyone else from writing into these tables until the transaction ends. */
export async function lockTables(tx: Transaction, tables: SnapshotTable[]): Promise<void> {
  const names = tables.map(({ name }) => quoteName(name)).join(', ');
  await tx.run(rawSql(`lock table ${names} in share row exclusive mode`));
}

/** The first of these tables that has a row, or null. */
export async function findFilledTable(
  db: Connection,
  tables: SnapshotTable[],
): Promise<string | null> {
  for (const { name } of tables) {
    const rows = await db.run(rawSql(`select 1 from ${quoteName(name)} limit 1`));
    if (rows.length > 0) return name;
  }
  return null;
}

/** After rows were inserted: moves sequences past them and updates the planner's statistics. */
export async function settleTables(tx: Transaction, tables: SnapshotTable[]): Promise<void> {
  const sequences = await tx.run<{ sequence: string; table: string; column: string }>(sql`
    select s.oid::regclass::text as sequence, t.relname as table, a.attname as column
    from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
    join pg_class t on t.oid = d.refobjid
    join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
    where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
      and d.deptype in ('a', 'i')
      and t.relnamespace = current_schema()::regnamespace`);
  for (const { sequence, table, column } of sequences) {
    const [id, from] = [quoteName(column), quoteName(table)];
    await tx.run(
      rawSql(`select setval($1::regclass, max(${id})) from ${from} having max(${id}) > 0`, [
        sequence,
      ]),
    );
  }
  await tx.run(rawSql(`analyze ${tables.map(({ name }) => quoteName(name)).join(', ')}`));
}

export interface SnapshotObject {
  storage_key: string;
  size: bigint;
  /** Hex. */
  sha256: string;
}

/** Stored objects that callers may still download. */
export function listLivingMedia(db: Connection): Promise<SnapshotObject[]> {
  return db.run<SnapshotObject>(sql`
    select storage_key, size, sha256 from files where expires_at > now()
    union all
    select o.storage_key, o.size, o.sha256 from outputs o join requests r on r.id = o.request_id
    where r.expires_at > now()
    order by storage_key`);
}

export interface OpenRequest {
  id: string;
  account_id: string;
  key_id: string;
  kind: Kind;
  status: 'IN_QUEUE' | 'IN_PROGRESS';
  attempt: number;
}

/** Requests that are not final, oldest first. */
export function openRequests(db: Connection, limit: number): Promise<OpenRequest[]> {
  return db.run<OpenRequest>(sql`
    select id, account_id, key_id, kind, status, attempt from requests
    where status in ('IN_QUEUE', 'IN_PROGRESS') order by id limit ${limit}`);
}

/** The time of this transaction's snapshot, by the database's clock. */
export async function readTransactionTime(tx: Connection): Promise<Date> {
  const [row] = await tx.run<{ now: Date }>(sql`select now() as now`);
  return row!.now;
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
