import { randomBytes } from 'node:crypto';
import { rawSql, sql, type Connection, type Database } from '../lib/sql/sql.ts';

/** Databases for a moment, on the server of another one. */

/** Creates an empty database and returns its name. The role needs the right CREATEDB. */
export async function make(db: Database): Promise<string> {
  const name = `farebox_check_${randomBytes(6).toString('hex')}`;
  await db.run(rawSql(`create database ${name} template template0`));
  return name;
}

export async function remove(db: Database, name: string): Promise<void> {
  await db.run(rawSql(`drop database ${name} with (force)`));
}

/** How many tables and views the database has in schemas of its own. */
export async function countTables(db: Connection): Promise<number> {
  const [row] = await db.run<{ tables: number }>(sql`
    select count(*)::int as tables from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm')
      and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`);
  return row!.tables;
}

/** The server's major version. */
export async function majorOfServer(db: Connection): Promise<number> {
  const [row] = await db.run<{ major: number }>(sql`
    select current_setting('server_version_num')::int / 10000 as major`);
  return row!.major;
}
