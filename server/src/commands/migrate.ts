import { withDatabase } from './database.ts';
import type { Context, CommandOutput } from './output.ts';

export async function migrateDatabase(
  { ignore_others: ignoresOthers = false }: { ignore_others?: boolean },
  context: Context,
): Promise<CommandOutput> {
  // Opening the database migrates it.
  const applied = await withDatabase(context, async (_db, applied) => applied, {
    migrates: true,
    ignoresOthers,
  });
  const done = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'There was nothing to do.';
  return { json: { ok: true, applied }, text: `${done} The schema is up to date.` };
}
