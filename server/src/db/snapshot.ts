import type { Migration, Shape, SnapshotMedia } from '../core/snapshot.ts';
import { rawSql, sql, type Connection, type Transaction } from '../lib/sql.ts';

/**
 * Whole tables out of one database and into another, whatever the schema: names and types come from
 * the catalog of the database that is asked, and every value travels as the text that PostgreSQL
 * itself writes and reads, so nothing is rounded on the way.
 */

export interface Column {
  name: string;
  /** As PostgreSQL spells it. */
  type: string;
}

export interface Table {
  name: string;
  columns: Column[];
}

/** Rows of one round trip at most: with the largest rows there are, they still fit into memory. */
const fetchMax = 250;
const fetchFirst = 20;

export async function appliedMigrations(db: Connection): Promise<Migration[]> {
  return db.run<{ number: number; name: string; sha256: string }>(
    sql`select number, name, sha256 from migrations order by number`,
  );
}

/**
 * Every table of the schema that outlives a crash, but for what says of the database itself; what
 * another references comes before it. Columns that PostgreSQL computes are left out.
 */
export async function keptTables(db: Connection): Promise<Table[]> {
  const tables = await db.run<{ name: string; columns: Column[] }>(sql`
    select c.relname as name, json_agg(json_build_object('name', a.attname,
      'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and not c.relispartition
      and c.relpersistence = 'p' and c.relname not in ('migrations', 'installation')
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

function parentsFirst(tables: Table[], references: { child: string; parent: string }[]): Table[] {
  const sorted: Table[] = [];
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
 * Makes this transaction write and read texts in one form, whatever the server's and the role's
 * settings.
 */
export function fixTextForm(tx: Transaction): void {
  tx.send(rawSql(`set local timezone = 'UTC'`));
  tx.send(rawSql(`set local datestyle = 'ISO, YMD'`));
  tx.send(rawSql(`set local intervalstyle = 'postgres'`));
  tx.send(rawSql(`set local bytea_output = 'hex'`));
  tx.send(rawSql('set local extra_float_digits = 1'));
}

/**
 * All rows of a table, some at a time: each a JSON array of texts and nulls, in the order of its
 * columns.
 */
export async function* readRows(
  tx: Transaction,
  table: Table,
  wantedBytes: number,
): AsyncGenerator<string[]> {
  const texts = table.columns.map(({ name }) => `${quoted(name)}::text`).join(', ');
  await tx.run(
    rawSql(`declare snapshot_rows no scroll cursor for
    select json_build_array(${texts})::text as line from ${quoted(table.name)}`),
  );
  for (let count = fetchFirst; ;) {
    const rows = await tx.run<{ line: string }>(rawSql(`fetch ${count} from snapshot_rows`));
    if (rows.length === 0) break;
    const lines = rows.map(({ line }) => line);
    yield lines;
    const meanBytes = lines.reduce((sum, line) => sum + line.length, 0) / lines.length;
    const fitting = Math.max(1, Math.floor(wantedBytes / meanBytes));
    count = Math.min(fitting, count * 2, fetchMax);
  }
  await tx.run(rawSql('close snapshot_rows'));
}

/** Inserts rows as `readRows` gave them. Returns how many. */
export async function insertRows(tx: Transaction, table: Table, lines: string[]): Promise<number> {
  const names = table.columns.map(({ name }) => quoted(name)).join(', ');
  const values = table.columns.map(({ type }, i) => `(line->>${i})::${type}`).join(', ');
  const [row] = await tx.run<{ count: number }>(
    rawSql(
      `
    with put as (
      insert into ${quoted(table.name)} (${names}) overriding system value
      select ${values} from jsonb_array_elements($1::jsonb) as d (line) returning 1
    ) select count(*)::int as count from put`,
      [`[${lines.join(',')}]`],
    ),
  );
  return row!.count;
}

/** Keeps everybody else from writing into these tables until the transaction ends. */
export async function lockTables(tx: Transaction, tables: Table[]): Promise<void> {
  const names = tables.map(({ name }) => quoted(name)).join(', ');
  await tx.run(rawSql(`lock table ${names} in share row exclusive mode`));
}

/** The first of these tables that has a row, or null. */
export async function filledTable(db: Connection, tables: Table[]): Promise<string | null> {
  for (const { name } of tables) {
    const rows = await db.run(rawSql(`select 1 from ${quoted(name)} limit 1`));
    if (rows.length > 0) return name;
  }
  return null;
}

/** After rows were put in: sequences go on behind them, and the planner knows the tables. */
export async function settleTables(tx: Transaction, tables: Table[]): Promise<void> {
  const sequences = await tx.run<{ sequence: string; table: string; column: string }>(sql`
    select s.oid::regclass::text as sequence, t.relname as table, a.attname as column
    from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
    join pg_class t on t.oid = d.refobjid
    join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
    where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
      and d.deptype in ('a', 'i')
      and t.relnamespace = current_schema()::regnamespace`);
  for (const { sequence, table, column } of sequences) {
    const [id, from] = [quoted(column), quoted(table)];
    await tx.run(
      rawSql(`select setval($1::regclass, max(${id})) from ${from} having max(${id}) > 0`, [
        sequence,
      ]),
    );
  }
  await tx.run(rawSql(`analyze ${tables.map(({ name }) => quoted(name)).join(', ')}`));
}

/** Where the bytes are that callers may still ask for. */
export async function livingMedia(db: Connection): Promise<SnapshotMedia[]> {
  const rows = await db.run<{ storage_key: string; size: bigint; sha256: string }>(sql`
    select storage_key, size, sha256 from files where expires_at > now()
    union all
    select o.storage_key, o.size, o.sha256 from outputs o join requests r on r.id = o.request_id
    where r.expires_at > now()
    order by storage_key`);
  return rows.map(({ storage_key, size, sha256 }) => ({ storage_key, size: Number(size), sha256 }));
}

export interface OpenRequest {
  id: string;
  account_id: string;
  key_id: string;
  kind: 'video' | 'image' | 'text';
  status: 'IN_QUEUE' | 'IN_PROGRESS';
  attempt: number;
}

/** Requests that are not final, oldest first. */
export function openRequests(db: Connection, limit: number): Promise<OpenRequest[]> {
  return db.run<OpenRequest>(sql`
    select id, account_id, key_id, kind, status, attempt from requests
    where status in ('IN_QUEUE', 'IN_PROGRESS') order by id limit ${limit}`);
}

/** The moment this transaction shows, by the database's clock. */
export async function transactionTime(tx: Connection): Promise<Date> {
  const [row] = await tx.run<{ now: Date }>(sql`select now() as now`);
  return row!.now;
}

/** What a snapshot says of a table. */
export function shapeOf({ name, columns }: Table): Shape {
  return { name, columns: columns.map((column) => column.name) };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
