import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The schema that this version of the service is made for. */

export const migrationsFolder = join(import.meta.dirname, '../../migrations');

/** Names of the migrations, in order. */
export const migrationNames: readonly string[] = readdirSync(migrationsFolder)
  .filter((name) => name.endsWith('.sql'))
  .toSorted();

export const schemaNumber = migrationNames.length;

/** Runs the trigger that refuses writes of an older version, and writes nothing. */
export const idleWrite = 'update requests set wake_at = wake_at where false';

/**
 * Run by each new connection: the database refuses writes of a session that is made for another
 * schema.
 */
export const schemaOfSession = `set farebox.schema = '${schemaNumber}'`;

/**
 * In a row `m` of `migrations`: the lowest schema number of the code that may run. Databases from
 * before this column serve one version.
 */
export const floorColumn = `coalesce((to_jsonb(m) ->> 'breaks_before')::int, number)`;
