import type { Logger } from 'pino';
import { dataDir, type Config } from './config.ts';
import { startEmbedded, type Embedded } from './db/embedded.ts';
import { migrate, unsafeSettings } from './db/migrate.ts';
import { openDatabase, type Database } from './lib/sql.ts';

const statementTimeoutMs = 15_000;

export interface Store {
  db: Database;
  embedded: Embedded | null;
  close(): Promise<void>;
}

/**
 * Connects to the configured database, starting the embedded one where none is; brings the schema
 * up to date.
 */
export async function openStore(config: Config, name: string, log: Logger): Promise<Store> {
  const embedded =
    config.DATABASE_URL === null
      ? await startEmbedded({ dataDir: dataDir(config), log: (message) => log.info(message) })
      : null;
  const db = openDatabase({
    connection: config.DATABASE_URL ?? embedded!.connection,
    max: config.FAREBOX_DATABASE_POOL,
    statementTimeoutMs,
    applicationName: name,
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
  const close = async () => {
    await db.close();
    await embedded?.stopIfUnused();
  };
  try {
    const applied = await migrate(db);
    if (applied.length > 0) log.info({ applied }, 'schema migrated');
    const unsafe = config.FAREBOX_UNSAFE_DATABASE ? [] : await unsafeSettings(db);
    if (unsafe.length > 0) throw new Error(unsafe.join('\n'));
    return { db, embedded, close };
  } catch (error) {
    await close();
    throw error;
  }
}
