import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbedded, type EmbeddedServer } from '../../src/db/embedded.ts';
import { killOrphans } from '../../src/db/embedded/running.ts';
import { openDatabase, rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { until } from '../kit/until.ts';

/** PostgreSQL, alone or with a standby that has each commit before it is answered. */
export interface Servers {
  primary: EmbeddedServer;
  standby: EmbeddedServer | null;
  stop(): Promise<void>;
}

const standbyFolder = 'standby';
const settings = { max_connections: '60', max_wal_senders: '4' };

export function urlOf({ connection }: EmbeddedServer): string {
  const { host, port, user, database } = connection;
  return `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
}

export async function startServers(dir: string, hasStandby: boolean): Promise<Servers> {
  const dataDir = join(dir, 'data');
  const first = await startEmbedded({ dataDir, settings });
  if (!hasStandby) return { primary: first, standby: null, stop: () => first.stop() };
  // A copy of a stopped server becomes the standby of the next one in its place.
  await first.stop();
  const copy = join(dir, standbyFolder);
  execFileSync('cp', ['-a', dataDir, copy]);
  const primary = await startEmbedded({ dataDir, settings });
  const mark = (name: string) => join(primary.cluster.replace(dataDir, copy), name);
  copyFileSync(mark('PG_VERSION'), mark('standby.signal'));
  const standby = await followPrimary(dir, primary);
  await withDatabase(primary, async (db) => {
    const followers = () =>
      db.run(rawSql('select from pg_stat_replication where state = $$streaming$$'));
    await until('the standby follows', async () => (await followers()).length === 1);
    await db.run(rawSql(`alter system set synchronous_standby_names = '*'`));
    await db.run(rawSql('select pg_reload_conf()'));
  });
  const all: Servers = {
    primary,
    standby,
    async stop() {
      await all.standby?.stop();
      await primary.stop();
    },
  };
  return all;
}

/** Starts the standby that `startServers` has made, or the one in `folder`, also after its end. */
export function followPrimary(
  dir: string,
  primary: EmbeddedServer,
  folder = standbyFolder,
): Promise<EmbeddedServer> {
  const { host, port, user } = primary.connection;
  const follows = { primary_conninfo: `host=${host} port=${port} user=${user}` };
  const dataDir = join(dir, folder);
  return startEmbedded({ dataDir, settings: { ...settings, ...follows } });
}

/** The process of the standby that receives what the primary commits. */
export async function receiverOf(standby: EmbeddedServer): Promise<number> {
  return withDatabase(standby, async (db) => {
    const [row] = await db.run<{ pid: number }>(rawSql('select pid from pg_stat_wal_receiver'));
    return row!.pid;
  });
}

/** Kills the primary and promotes the standby; resolves when that takes writes. */
export async function takeOver(primary: EmbeddedServer, standby: EmbeddedServer): Promise<void> {
  // Otherwise it would be started again.
  await primary.release();
  process.kill(primary.pid, 'SIGKILL');
  killOrphans(primary.cluster);
  await withDatabase(standby, (db) => db.run(rawSql('select pg_promote()')));
}

async function withDatabase<T>(server: EmbeddedServer, work: (db: Database) => Promise<T>) {
  const options = { max: 1, statementTimeoutMs: 60_000, applicationName: 'chaos servers' };
  const db = openDatabase({ connection: urlOf(server), ...options });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}
