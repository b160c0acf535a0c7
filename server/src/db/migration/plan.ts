import { breaksBefore, firstBeside } from './rule.ts';
import { secondsOf, stepsOf, type MigrationStep } from './steps.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { MigrationFile } from './apply.ts';
import { readState } from '../migrate.ts';

/** Reads what a migration would do to this database and to those who use it. Changes nothing. */

export interface PlannedTable {
  name: string;
  /** Estimates of PostgreSQL; null: it does not know, or the table is not there yet. */
  rows: number | null;
  bytes: number | null;
}

export interface PlannedStep extends Pick<
  MigrationStep,
  'statement' | 'lock' | 'work' | 'contract'
> {
  tables: PlannedTable[];
  /** A guess by the size of its tables. */
  seconds: number;
}

export interface MigrationPlan {
  /** `is_whole`: one transaction, in which nothing else writes balances and requests. */
  pending: { name: string; is_whole: boolean; runs_beside: boolean; statements: PlannedStep[] }[];
  /** Lowest schema number of the code that may run beside it afterwards. */
  lowest: number;
  /** True if processes of the version that migrated this database last may run meanwhile. */
  runs_beside: boolean;
  /** Processes with a sign of life in the last 30 seconds that have to stop first. */
  to_stop: string[];
}

type Session = Awaited<ReturnType<Database['connect']>>;

export async function planMigration(
  db: Database,
  migrations?: MigrationFile[],
): Promise<MigrationPlan> {
  const session = await db.connect();
  try {
    await session.query('begin transaction isolation level repeatable read read only');
    const { pending, applied, lowest } = await readState(session, migrations);
    const all = pending.map((each) => ({ ...each, steps: stepsOf(each.text).slice(each.done) }));
    const names = all.flatMap(({ steps }) => steps.flatMap(({ tables }) => tables));
    const sizes = await readSizes(session, names);
    return {
      pending: all.map((each) => ({
        name: each.name,
        is_whole: each.number < firstBeside,
        runs_beside: breaksBefore(each) <= applied,
        statements: each.steps.map((step) => planStep(step, sizes)),
      })),
      lowest,
      runs_beside: applied === 0 || lowest <= applied,
      to_stop: await listToStop(session, lowest),
    };
  } finally {
    await session.end();
  }
}

function planStep(step: MigrationStep, sizes: ReadonlyMap<string, PlannedTable>): PlannedStep {
  const { statement, lock, work, contract } = step;
  const tables = step.tables.map((name) => sizes.get(name) ?? { name, rows: null, bytes: null });
  const bytes = tables.reduce((sum, table) => sum + (table.bytes ?? 0), 0);
  return { statement, lock, work, contract, tables, seconds: secondsOf(work, bytes) };
}

async function readSizes(session: Session, names: string[]): Promise<Map<string, PlannedTable>> {
  const { rows } = await session.query<PlannedTable>(
    `select relname as name, nullif(reltuples, -1)::float8 as rows,
       pg_table_size(oid)::float8 as bytes
     from pg_class where oid = any (select to_regclass(quote_ident(t)) from unnest($1::text[]) t)`,
    [names],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

async function listToStop(session: Session, lowest: number): Promise<string[]> {
  const there = await session.query(`select where to_regclass('processes') is not null`);
  if (there.rowCount === 0) return [];
  const { rows } = await session.query<{ says: string }>(
    `select format('%s on %s, pid %s, version %s (migration %s)', kind, host, pid, version, schema)
       as says
     from processes where schema < $1 and beat_at > clock_timestamp() - interval '30 s'
     order by started_at`,
    [lowest],
  );
  return rows.map(({ says }) => says);
}
