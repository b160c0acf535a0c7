import { print, withDatabase, type Context } from './output.ts';

export async function migrateDatabase(
  context: Context,
  { ignoreOthers = false }: { ignoreOthers?: boolean } = {},
): Promise<void> {
  // Opening the database migrates it.
  const applied = await withDatabase(context, async (_db, applied) => applied, {
    migrates: true,
    ignoresOthers: ignoreOthers,
  });
  const text = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'There was nothing to do.';
  print(context, { ok: true, applied }, `${text} The schema is up to date.`);
}
