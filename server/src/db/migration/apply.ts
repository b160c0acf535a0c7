import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { breaksBefore, firstBeside } from './rule.ts';
import { stepsOf, type MigrationStep } from './steps.ts';
import { codeOf, messageOf } from '../../lib/unknown.ts';
import { setEmailForms } from '../accounts/email-forms.ts';

/** Applies one migration so that a service that runs beside it waits a second at most. */

export interface MigrationFile {
  number: number;
  name: string;
  text: string;
  sha256: string;
}

/** How long a lock is waited for; all calls that use the table wait behind it. */
const lockMs = 1_000;
/** Pauses between two tries for a lock, the last one again and again, and how often it is tried. */
const pausesMs = [200, 500, 1_000, 2_000, 5_000];
const triesMax = 60;
const triedAgain = new Set(['55P03', '40P01']);

/** Steps of migrations that SQL cannot do, by number. Each returns warnings for the operator. */
const inCode: Record<number, (session: Client) => Promise<string[]>> = { 36: setEmailForms };

/** A migration stopped. The message says where, and what to do. */
export class MigrationStopped extends Error {}

/**
 * Applies what is missing of a migration. `done` is the number of its statements that an earlier
 * run has done; undefined: it was not begun. Returns warnings for the operator.
 */
export async function applyMigration(
  session: Client,
  migration: MigrationFile,
  done: number | undefined,
): Promise<string[]> {
  if (migration.number < firstBeside) return applyWhole(session, migration);
  const steps = stepsOf(migration.text);
  if (done === undefined) await begin(session, migration, steps.length);
  for (const [i, step] of steps.entries())
    if (i >= (done ?? 0)) {
      try {
        await applyStep(session, step, noteOf(migration, i + 1, steps.length));
      } catch (cause) {
        const start = step.statement.slice(0, 60).replace(/\s+/g, ' ');
        throw new MigrationStopped(
          `Migration ${migration.name} stopped at statement ${i + 1} of ${steps.length} ` +
            `("${start}"): ${messageOf(cause)}. Those before it are done, and versions that ran ` +
            `until now run on. Remove the cause and run "farebox migrate" again: it goes on there.`,
          { cause },
        );
      }
    }
  return [];
}

/** A migration from before versions ran side by side: all of it in one transaction. */
async function applyWhole(session: Client, migration: MigrationFile): Promise<string[]> {
  const { number, name, text, sha256 } = migration;
  try {
    return await transact(session, ['balances', 'requests'], async () => {
      if (number > 1) await waitForWriters(session);
      await session.query(text);
      const notes = (await inCode[number]?.(session)) ?? [];
      await session.query('insert into migrations (number, name, sha256) values ($1, $2, $3)', [
        number,
        name,
        sha256,
      ]);
      return notes;
    });
  } catch (cause) {
    throw new MigrationStopped(
      `Migration ${name} failed and has changed nothing: ${messageOf(cause)}. Remove the cause ` +
        'and run "farebox migrate" again.',
      { cause },
    );
  }
}

/**
 * Transactions of an older process end before the migration counts what they wrote, and later ones
 * see its number and are refused. Each one locks a balance or writes a request.
 */
async function waitForWriters(session: Client): Promise<void> {
  // guard: migration-waits-for-writers
  await session.query('lock table balances, requests in exclusive mode');
}

/** From here on, code that the migration breaks is refused. */
async function begin(session: Client, migration: MigrationFile, steps: number): Promise<void> {
  const { number, name, sha256 } = migration;
  const breaks = breaksBefore(migration);
  await transact(session, ['balances', 'requests'], async () => {
    if (breaks > 0) await waitForWriters(session);
    await session.query(
      `insert into migrations (number, name, sha256, breaks_before, done)
       values ($1, $2, $3, $4, $5)`,
      [number, name, sha256, breaks, steps === 0 ? null : 0],
    );
  });
}

interface Note {
  text: string;
  values: unknown[];
}

function noteOf({ number }: MigrationFile, done: number, of: number): Note {
  const values = [number, done === of ? null : done];
  return { text: 'update migrations set done = $2 where number = $1', values };
}

async function applyStep(session: Client, step: MigrationStep, note: Note): Promise<void> {
  const write = () => session.query(note.text, note.values);
  if (!step.isOutside) {
    await transact(session, step.tables, async () => {
      await session.query(step.statement);
      await write();
    });
    return;
  }
  await retried(() => buildOutside(session, step));
  await write();
}

/** An index that a cut build has left is not valid, and is dropped; one that is valid is kept. */
async function buildOutside(session: Client, { index, statement }: MigrationStep): Promise<void> {
  if (index !== undefined) {
    const { rows } = await session.query<{ valid: boolean }>(
      'select indisvalid as valid from pg_index where indexrelid = to_regclass(quote_ident($1))',
      [index],
    );
    if (rows[0]?.valid) return;
    if (rows.length > 0) await session.query(`drop index concurrently ${index}`);
  }
  await session.query(statement);
}

/** Runs a transaction again if it got no lock, so that calls which wait behind it can go on. */
async function transact<T>(
  session: Client,
  tables: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await retried(async () => {
      await session.query('begin');
      try {
        await session.query(`set local lock_timeout = ${lockMs}`);
        const result = await work();
        await session.query('commit');
        return result;
      } catch (error) {
        await session.query('rollback').catch(() => {});
        throw error;
      }
    });
  } catch (error) {
    if (codeOf(error) !== '55P03') throw error;
    throw new Error(`${messageOf(error)}; ${await holdersOf(session, tables)}`, { cause: error });
  }
}

async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!triedAgain.has(codeOf(error)) || tries === triesMax) throw error;
      await pause(pausesMs[Math.min(tries, pausesMs.length) - 1]);
    }
  }
}

/** The transactions that use these tables, the oldest first. */
async function holdersOf(session: Client, tables: readonly string[]): Promise<string> {
  const { rows } = await session.query<{ says: string }>(
    `select format('PostgreSQL process %s (%s, since %s)', pid, application_name,
       to_char(min(xact_start) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) as says
     from pg_locks l join pg_stat_activity a using (pid)
     where relation = any (select to_regclass(quote_ident(t)) from unnest($1::text[]) t)
       and pid <> pg_backend_pid()
     group by pid, application_name order by min(xact_start) limit 5`,
    [tables],
  );
  return `in use by ${rows.map(({ says }) => says).join(', ') || 'nobody by now'}`;
}
