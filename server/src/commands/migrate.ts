import { migrate } from '../db/migrate.ts';
import { print, withDatabase, type Context } from './output.ts';

export async function migrateDatabase(context: Context): Promise<void> {
  // Opening the database migrates it; what is left to apply afterwards is nothing.
  const applied = await withDatabase(context, migrate);
  print(context, { ok: true, applied }, 'The schema is up to date.');
}
