import type pg from 'pg';
import { fieldOf } from '../unknown.ts';
import { checkMs } from './abandoned.ts';
import { UnfitSession } from './faults.ts';
import { breakOff, connectionOf, inTime } from './silence.ts';

/**
 * The settings of a connection. Server, database and role may each set others, which would change
 * what a text says, what a statement sees or how long it may take.
 */
const fixed = {
  // The text form of values, and how values are read from their texts.
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  client_encoding: 'UTF8',
  lc_monetary: 'C',
  lc_numeric: 'C',
  lc_time: 'C',
  array_nulls: 'on',
  // How the texts of statements are read.
  standard_conforming_strings: 'on',
  backslash_quote: 'safe_encoding',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
  // The rows that a statement sees. A policy that would hide some is an error: books need them all.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  row_security: 'off',
  gin_fuzzy_search_limit: '0',
  // A failed statement ends only its transaction.
  exit_on_error: 'off',
  // Time limits, beside our own.
  lock_timeout: '0',
  idle_session_timeout: '0',
  transaction_timeout: '0',
  // One plan suits lists of any length, and planning again costs more than most statements.
  plan_cache_mode: 'force_generic_plan',
};

/** Settings that only a superuser may change. */
const demanded = { session_replication_role: 'origin', zero_damaged_pages: 'off' };

/**
 * Settings that the operator chooses. All connections of a process keep what the first one found,
 * because connections that differ would use two sets of tables, or lose some of the commits.
 */
const kept = ['search_path', 'synchronous_commit'];

/** Sets up a connection that has just been opened. Throws `UnfitSession` if it cannot be used. */
export type BeginSession = (
  client: pg.ClientBase,
  limits: { statementMs: number; idleMs: number },
) => Promise<void>;

/**
 * Settings are sent after connecting, because a PgBouncer with default settings refuses a
 * connection that states them at its start.
 * @param name the connection's name in PostgreSQL's list, which differs from its name at the start
 * @param own a further statement
 */
export function openSessions(name: string, own?: string): BeginSession {
  let found: Record<string, string | null> = Object.fromEntries(kept.map((each) => [each, null]));
  return async (client, { statementMs, idleMs }) => {
    const settings = {
      ...fixed,
      ...found,
      application_name: name,
      statement_timeout: String(statementMs),
      idle_in_transaction_session_timeout: String(idleMs),
    };
    // A server cannot check it on every system.
    const checking = client
      .query(inTime(`set client_connection_check_interval = ${checkMs}`))
      .catch(() => {});
    const values = await setAndReadAll(client, settings);
    await checking;
    for (const [setting, value] of Object.entries(demanded))
      if (values[setting] !== value) throw new UnfitSession(needs(setting, values[setting], value));
    found = Object.fromEntries(kept.map((each) => [each, values[each]!]));
    if (own !== undefined) await client.query(inTime(own));
    endOnReset(client, name);
  };
}

/** "PostgreSQL has fsync = off; Farebox needs on." */
export function needs(setting: string, has: string | undefined, value: string): string {
  return `PostgreSQL has ${setting} = ${has}; Farebox needs ${value}.`;
}

/**
 * A statement that makes the settings of this transaction those of our sessions, for connections
 * whose sessions are shared, as by a pooler in transaction mode.
 */
export function settingsOfTransaction(limits: { statementMs: number }) {
  const settings = {
    ...fixed,
    statement_timeout: String(limits.statementMs),
    idle_in_transaction_session_timeout: String(limits.statementMs),
    client_connection_check_interval: String(checkMs),
  };
  return { text: `values ${setAll(settings, true).join()}`, values: Object.values(settings) };
}

/** Rows that set these settings, but keep those that are null. */
function setAll(settings: Record<string, string | null>, isLocal: boolean): string[] {
  return Object.keys(settings).map((name, i) => {
    const value = `coalesce($${i + 1}, current_setting('${name}'))`;
    // A version of PostgreSQL that does not know a setting does not need it.
    return `('${name}', case when current_setting('${name}', true) is not null
      then set_config('${name}', ${value}, ${isLocal}) end)`;
  });
}

/** Sets these settings, keeps those that are null, and returns the values of all we care about. */
async function setAndReadAll(
  client: pg.ClientBase,
  settings: Record<string, string | null>,
): Promise<Record<string, string>> {
  const set = setAll(settings, false);
  const shown = Object.keys(demanded).map((name) => `('${name}', current_setting('${name}'))`);
  const query = inTime(`values ${[...set, ...shown].join()}`, Object.values(settings));
  const { rows } = await client.query<{ column1: string; column2: string }>(query);
  return Object.fromEntries(rows.map(({ column1: name, column2: value }) => [name, value]));
}

/**
 * Ends a connection whose settings are reset, as by DISCARD ALL, which also drops its prepared
 * statements. PostgreSQL tells when the name of a connection changes back.
 */
function endOnReset(client: pg.ClientBase, name: string): void {
  connectionOf(client).on('parameterStatus', (status: unknown) => {
    if (fieldOf(status, 'parameterName') !== 'application_name') return;
    if (fieldOf(status, 'parameterValue') === name) return;
    breakOff(client, new Error('Connection terminated, because its settings were reset'));
  });
}
