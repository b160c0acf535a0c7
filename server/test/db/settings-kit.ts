/** Settings of a database, a role or a server that change what texts say. */
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { runLongTransaction } from '../../src/lib/sql/long-transaction.ts';
import { openDatabase, rawSql, sql, rowsIn, type Database } from '../../src/lib/sql/sql.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';

/** Each changes the form or the meaning of a text, or what a statement sees. */
export const foreign: Record<string, string> = {
  DateStyle: 'German',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kolkata',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  client_encoding: 'LATIN1',
  lc_monetary: 'C.UTF-8',
  lc_numeric: 'C.UTF-8',
  lc_time: 'C.UTF-8',
  standard_conforming_strings: 'off',
  backslash_quote: 'off',
  array_nulls: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  gin_fuzzy_search_limit: '1',
  exit_on_error: 'on',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  row_security: 'on',
  lock_timeout: '1',
  idle_session_timeout: '60000',
  statement_timeout: '60000',
};

/** Its answer depends on most of these settings. */
const question = `
  select '2026-03-04T05:06:07.089Z'::timestamptz as at, 0.1::float8 + 0.2::float8 as sum,
    '\\x00ff5c'::bytea as bytes, 'a\\b' as text, 9007199254740993 as big,
    array['2026-03-04T05:06:07Z'::timestamptz, null] as times,
    '{1,NULL}'::bigint[] as list, null = (1 = null) as unknown,
    to_json('2026-03-04T05:06:07Z'::timestamptz)::text as json_time,
    to_json('\\x00ff'::bytea)::text as json_bytes,
    ('-1 day'::interval)::text as span, quote_ident('a') as name,
    current_setting('transaction_isolation') as isolation,
    current_setting('lock_timeout') as lock_timeout, 'Ärger €' as umlaut,
    convert_to('Ä€', current_setting('client_encoding')) as encoded`;

export const answer = {
  at: new Date('2026-03-04T05:06:07.089Z'),
  sum: 0.1 + 0.2,
  bytes: Buffer.from([0, 255, 92]),
  text: 'a\\b',
  big: 9007199254740993n,
  times: [new Date('2026-03-04T05:06:07Z'), null],
  list: [1n, null],
  unknown: null,
  json_time: '"2026-03-04T05:06:07+00:00"',
  json_bytes: '"\\\\x00ff"',
  span: '-1 days',
  name: 'a',
  isolation: 'read committed',
  lock_timeout: '0',
  umlaut: 'Ärger €',
  encoded: Buffer.from('Ä€'),
};

/** The same question on every kind of connection. */
export async function answers(db: Database): Promise<Record<string, object>> {
  const asked = async (client: pg.ClientBase) => rowsIn(await client.query(question))[0]!;
  const [run, tx, long] = [
    (await db.run(rawSql(question)))[0]!,
    await db.tx(async (each) => (await each.run(rawSql(question)))[0]!),
    await runLongTransaction(db, '', async (each) => (await each.run(rawSql(question)))[0]!),
  ];
  const pooled = await db.checkout();
  const checkout = await asked(pooled);
  pooled.release();
  const own = await db.connect();
  const connect = await asked(own);
  await own.end();
  return { run, tx, long, checkout, connect };
}

export const everywhere = {
  run: answer,
  tx: answer,
  long: answer,
  checkout: answer,
  connect: answer,
};

export function openAt(connection: string): Database {
  const name = { statementTimeoutMs: 30_000, applicationName: 'settings' };
  return openDatabase({ connection, max: 3, ...name });
}

/** A database with a role of its own, which owns it. */
export interface HostileDatabase extends TestDatabase {
  /** `url` of the role. */
  roleUrl: string;
  role: string;
  /** Sets it for every new connection to the database, or of the role. */
  set(of: 'database' | 'role', name: string, value: string): Promise<void>;
  reset(): Promise<void>;
}

export async function hostileDatabase(): Promise<HostileDatabase> {
  const database = await testDatabase();
  const role = `role_${randomBytes(6).toString('hex')}`;
  const [row] = await database.db.run<{ name: string; owner: string }>(sql`select current_database()
    as name, current_user as owner`);
  const { name, owner } = row!;
  const run = (text: string) => database.db.run(rawSql(text));
  await run(`create role ${role} login in role ${owner}`);
  const ofLevel = { database: `database ${name}`, role: `role ${role}` };
  const reset = async () => {
    for (const level of Object.values(ofLevel)) await run(`alter ${level} reset all`);
  };
  return {
    ...database,
    role,
    roleUrl: database.url.replace(/\/\/[^@]*@/, `//${role}@`),
    async set(of, setting, value) {
      // In quotes a search path would be the name of one schema.
      const text = setting === 'search_path' ? value : `'${value}'`;
      await run(`alter ${ofLevel[of]} set ${setting} = ${text}`);
    },
    reset,
    async close() {
      await reset();
      await run(`drop role ${role}`);
      await database.close();
    },
  };
}
