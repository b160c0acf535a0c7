import { openServiceDatabase } from '../database.ts';
import { planMigration, type MigrationPlan } from '../db/migration/plan.ts';
import { createLog } from '../lib/log.ts';
import { withDatabase } from './database.ts';
import { countText, seconds, table, type CommandOutput, type Context } from './output.ts';

interface Options {
  plan?: boolean;
  ignore_others?: boolean;
}

export async function migrateDatabase(
  { plan = false, ignore_others: ignoresOthers = false }: Options,
  context: Context,
): Promise<CommandOutput> {
  if (plan) return showPlan(context);
  // Opening the database migrates it.
  const applied = await withDatabase(context, async (_db, applied) => applied, {
    migrates: true,
    ignoresOthers,
  });
  const done = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'There was nothing to do.';
  return { json: { ok: true, applied }, text: `${done} The schema is up to date.` };
}

/** Not by `withDatabase`, which writes that this process lives. */
async function showPlan(context: Context): Promise<CommandOutput> {
  const config = { ...context.config, FAREBOX_DATABASE_POOL: 2 };
  const options = { migrates: false, verifies: false };
  const database = await openServiceDatabase(config, 'farebox plan', createLog('error'), options);
  try {
    const plan = await planMigration(database.db);
    const isFree = plan.runs_beside && plan.to_stop.length === 0;
    return { json: plan, text: textOf(plan), exit: isFree ? 0 : 1 };
  } finally {
    await database.close();
  }
}

function textOf(plan: MigrationPlan): string {
  if (plan.pending.length === 0) return 'There is nothing to do. The schema is up to date.';
  const whole = plan.pending.filter((each) => each.is_whole);
  const pause = whole
    .flatMap(({ statements }) => statements)
    .reduce((s, each) => s + each.seconds, 0);
  const rows = plan.pending.flatMap(({ name, statements }) =>
    statements
      // Comments and what is new lock nothing that anybody uses.
      .filter(({ lock, statement }) => lock !== undefined && !/^comment /i.test(statement))
      .map((each) => ({ ...each, name: name.slice(0, 4) })),
  );
  const shown = table(rows, {
    MIGRATION: 'name',
    STATEMENT: ({ statement }) => statement.replace(/\s+/g, ' ').slice(0, 50),
    LOCK: 'lock',
    TABLE: ({ tables }) => tables.map(({ name }) => name).join(', '),
    ROWS: ({ tables }) => tables[0]?.rows ?? null,
    SIZE: ({ tables }) => sizeOf(tables[0]?.bytes ?? null),
    TAKES: (each) => (each.seconds < 1 ? 'under 1 s' : `${each.work}, ${seconds(each.seconds)}`),
  });
  return [
    `${countText(plan.pending.length, 'migration')} to apply: ${plan.pending.map(({ name }) => name).join(', ')}`,
    '',
    shown,
    '',
    'Seconds are guessed from the size: 100 MB/s read, 40 MB/s for an index, 10 MB/s written.',
    ...(whole.length > 0
      ? [
          `No call is accepted during ${countText(whole.length, 'migration')}, about ${seconds(pause)}.`,
        ]
      : [
          'A lock that stops calls is waited for 1 s at a time; indexes are built beside the calls.',
        ]),
    plan.runs_beside
      ? `Versions that know migration ${plan.lowest} may run meanwhile and afterwards.`
      : 'The version that uses this database now has to stop first.',
    ...plan.to_stop.map((says) => `- ${says}`),
  ].join('\n');
}

function sizeOf(bytes: number | null): string | null {
  return bytes === null ? null : `${(bytes / 1e6).toFixed(1)} MB`;
}
