import { print, withDatabase, type Context } from './output.ts';

export async function migrateDatabase(context: Context): Promise<void> {
  // Opening the database migrates it.
  const applied = await withDatabase(context, async (_db, applied) => applied, {
    migrates: true,
  });
  const text = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'There was nothing to do.';
  print(context, { ok: true, applied }, `${text} The schema is up to date.`);
}
