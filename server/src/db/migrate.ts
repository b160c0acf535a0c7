import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rawSql, sql, type Database } from '../lib/sql.ts';

const folder = join(import.meta.dirname, '../../migrations');
/** Any number will do, as long as every version of the service takes the same one. */
const lockKey = 770_219_001;

interface Migration {
  number: number;
  name: string;
  text: string;
  sha256: string;
}

/** This version of the service cannot work with the schema that it found. */
export class SchemaUnfit extends Error {}

/** The database was migrated by a newer version of the service. */
export class SchemaTooNew extends SchemaUnfit {}

/**
 * Brings the schema up to this version: forward only, a file a transaction, one process at a time.
 * Returns the names of what was applied. Refuses a database that a newer version has migrated, and
 * one whose applied migrations are not the files of this version.
 */
export async function migrate(db: Database): Promise<string[]> {
  const wanted = await readMigrations();
  const session = await db.connect();
  try {
    await session.query('select pg_advisory_lock($1)', [lockKey]);
    await session.query(
      `create table if not exists migrations (
         number integer primary key, name text not null, sha256 text not null,
           applied_at timestamptz not null default now())`,
    );
    const { rows } = await session.query<{ number: number; name: string; sha256: string }>(
      'select number, name, sha256 from migrations order by number',
    );
    verify(wanted, rows);
    const missing = wanted.slice(rows.length);
    for (const migration of missing) {
      await session.query('begin');
      await session.query(migration.text);
      await session.query('insert into migrations (number, name, sha256) values ($1, $2, $3)', [
        migration.number,
        migration.name,
        migration.sha256,
      ]);
      await session.query('commit');
    }
    return missing.map(({ name }) => name);
  } finally {
    // Ending the session frees the lock and rolls back a migration that failed.
    await session.end();
  }
}

function verify(
  wanted: Migration[],
  applied: { number: number; name: string; sha256: string }[],
): void {
  if (applied.length > wanted.length) {
    throw new SchemaTooNew(
      `The database is at migration ${applied.length}, this version of Farebox knows ` +
        `${wanted.length}. Start the version that migrated it, or a newer one.`,
    );
  }
  for (const [i, row] of applied.entries()) {
    if (row.sha256 !== wanted[i]?.sha256) {
      throw new SchemaUnfit(
        `Migration ${row.name} was applied with another text than this version's ${wanted[i]?.name}. ` +
          'Restore the file, or the database from a backup.',
      );
    }
  }
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      return {
        number: Number(name.slice(0, 4)),
        name,
        text,
        sha256: createHash('sha256').update(text).digest('hex'),
      };
    }),
  );
}

const durable = { fsync: 'on', full_page_writes: 'on' } as const;

/**
 * Proves that what is committed survives a power cut, and that the server is new enough. Returns
 * what is wrong, in words, one sentence each.
 */
export async function unsafeSettings(db: Database): Promise<string[]> {
  const rows = await db.run<{ name: string; setting: string }>(sql`
    select name, setting from pg_settings
    where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'server_version_num')`);
  const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  const wrong = Object.entries(durable)
    .filter(([name, value]) => settings[name] !== value)
    .map(([name, value]) => `PostgreSQL has ${name} = ${settings[name]}; Farebox needs ${value}.`);
  if (settings.synchronous_commit === 'off') {
    wrong.push('PostgreSQL has synchronous_commit = off; Farebox needs on (or a stricter value).');
  }
  if (Number(settings.server_version_num) < 150_000) {
    wrong.push(`PostgreSQL is version ${settings.server_version_num}; Farebox needs 15 or later.`);
  }
  const [encoding] = await db.run<{ server_encoding: string }>(rawSql('show server_encoding'));
  if (encoding?.server_encoding !== 'UTF8') {
    wrong.push(`The database's encoding is ${encoding?.server_encoding}; Farebox needs UTF8.`);
  }
  return wrong;
}

/** Resolves when the database answers. */
export async function ping(db: Database): Promise<void> {
  await db.run(sql`select 1`);
}
