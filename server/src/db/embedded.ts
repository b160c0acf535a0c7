/**
 * PostgreSQL inside the data folder, for those who bring none of their own.
 *
 * The server outlives the process that started it: after a `kill -9` of the service the next
 * start adopts it. While a process holds it (from `startEmbedded` to `stop` or `release`), that
 * process brings it back whenever it ends. Several processes may hold it at once.
 */
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { attend, claim, present, waitForClaim, type Claim } from './embedded/claim.ts';
import { locate, openDataDir, port, type Place } from './embedded/files.ts';
import {
  bringUp,
  createCluster,
  findRunning,
  isServer,
  rotateLog,
  stopServer,
  type Server,
} from './embedded/process.ts';

export interface EmbeddedOptions {
  /** Made where missing. The cluster lies in `postgres/`, the log is `postgres.log`. */
  dataDir: string;
  log?: (message: string) => void;
  /** More settings, such as `{ work_mem: '8MB' }`. Not applied to a server that is adopted. */
  settings?: Record<string, string>;
  /** Under root: where to keep what PostgreSQL's user cannot reach in `dataDir`. */
  systemDir?: string;
}

export interface Connection {
  /** A folder: the server listens on a Unix socket only. */
  host: string;
  port: number;
  user: string;
  database: string;
}

export interface Embedded {
  readonly connection: Connection;
  /** False when one that ran already was adopted. */
  readonly started: boolean;
  readonly pid: number;
  /** Called when the server is back after it ended on its own. Returns how to unsubscribe. */
  onRestart(callback: () => void): () => void;
  /** Stops the server, whoever else uses it, and resolves when it is gone. Never restarts it. */
  stop(): Promise<void>;
  /**
   * Stops the server unless another process holds it or a client is connected; else releases it.
   * This process's own connections count: close them first. True: stopped.
   */
  stopIfUnused(): Promise<boolean>;
  /** Leaves it running and watches it no longer. */
  release(): Promise<void>;
}

const START_TIMEOUT_MS = 600_000;
const CHECK_EVERY_MS = 300;
const LOG_CHECK_EVERY_MS = 30_000;

/**
 * Starts the data folder's PostgreSQL or adopts the one that runs; the database `farebox` is
 * there and takes connections. Rejects with an error that says what to do where this platform,
 * user or folder cannot have one.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const dataDir = openDataDir(options.dataDir);
  const log = options.log ?? (() => {});
  const starting = await claimStart(dataDir);
  try {
    const place = locate(dataDir, options.systemDir ?? '/var/lib/farebox');
    await createCluster(place);
    const server = await bringUp(place, options.settings ?? {});
    await ensureDatabase(server.socketDir);
    const presence = await attend(lockFolder(dataDir, 'users'), whoAmI());
    log(`PostgreSQL ${server.child ? 'started' : 'adopted'}: pid ${server.pid}, ${place.cluster}`);
    return new Supervisor(dataDir, place, server, presence, options.settings ?? {}, log);
  } finally {
    starting.release();
  }
}

/**
 * One service per data folder: taken until released or until this process ends, however it ends.
 * @param info shown to whoever comes second, such as the pid and address of this service
 */
export async function claimFolder(
  dataDir: string,
  info: string,
): Promise<{ release(): void } | { held_by: string }> {
  return claim(lockFolder(openDataDir(dataDir), 'service'), info);
}

class Supervisor implements Embedded {
  readonly started: boolean;
  #dataDir: string;
  #place: Place;
  #server: Server;
  #presence: Claim;
  #settings: Record<string, string>;
  #log: (message: string) => void;
  #callbacks = new Set<() => void>();
  #timers: NodeJS.Timeout[] = [];
  #reviving: Promise<void> = Promise.resolve();
  #over = new AbortController();

  constructor(
    dataDir: string,
    place: Place,
    server: Server,
    presence: Claim,
    settings: Record<string, string>,
    log: (message: string) => void,
  ) {
    this.#dataDir = dataDir;
    // A restart keeps the address that clients already have.
    this.#place = { ...place, socketDir: server.socketDir };
    this.#server = server;
    this.#presence = presence;
    this.#settings = settings;
    this.#log = log;
    this.started = server.child !== null;
    this.#watch();
  }

  get connection(): Connection {
    return connectionTo(this.#server.socketDir, 'farebox');
  }

  get pid(): number {
    return this.#server.pid;
  }

  onRestart(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  async stop(): Promise<void> {
    await this.release();
    await stopServer(this.#place.cluster);
  }

  async stopIfUnused(): Promise<boolean> {
    await this.release();
    // Who starts meanwhile waits for the claim, and is counted or finds no server.
    const starting = await claimStart(this.#dataDir);
    try {
      if ((await present(lockFolder(this.#dataDir, 'users'))).length > 0) return false;
      if (findRunning(this.#place.cluster) && (await countClients(this.connection)) > 0) {
        return false;
      }
      await stopServer(this.#place.cluster);
      return true;
    } finally {
      starting.release();
    }
  }

  async release(): Promise<void> {
    this.#over.abort();
    this.#timers.forEach(clearInterval);
    await this.#reviving;
    this.#presence.release();
  }

  #watch(): void {
    const { child, pid } = this.#server;
    this.#timers.forEach(clearInterval);
    this.#timers = [setInterval(() => rotateLog(this.#place.logFile), LOG_CHECK_EVERY_MS)];
    if (child) {
      if (child.exitCode !== null || child.signalCode !== null) this.#lost();
      else child.once('exit', () => this.#lost());
    } else {
      const check = () => isAlive(pid, this.#place.cluster) || this.#lost();
      this.#timers.push(setInterval(check, CHECK_EVERY_MS));
    }
    this.#timers.forEach((timer) => timer.unref());
  }

  #lost(): void {
    if (this.#over.signal.aborted) return;
    this.#timers.forEach(clearInterval);
    this.#log(`PostgreSQL with pid ${this.#server.pid} ended: starting it again`);
    this.#reviving = this.#revive();
  }

  async #revive(): Promise<void> {
    for (let pause_ms = 100; !this.#over.signal.aborted; pause_ms = Math.min(pause_ms * 2, 5000)) {
      try {
        const starting = await claimStart(this.#dataDir);
        try {
          if (this.#over.signal.aborted) return;
          this.#server = await bringUp(this.#place, this.#settings);
        } finally {
          starting.release();
        }
        break;
      } catch (error) {
        this.#log(`PostgreSQL does not come back: ${(error as Error).message}`);
        await delay(pause_ms, undefined, { signal: this.#over.signal }).catch(() => {});
      }
    }
    if (this.#over.signal.aborted) return;
    this.#log(`PostgreSQL is back: pid ${this.#server.pid}`);
    this.#watch();
    for (const callback of this.#callbacks) callback();
  }
}

async function ensureDatabase(socketDir: string): Promise<void> {
  const missing = await withClient(connectionTo(socketDir, 'farebox'), async () => false).catch(
    (error: { code?: string }) => {
      if (error.code === '3D000') return true;
      throw error;
    },
  );
  if (!missing) return;
  await withClient(connectionTo(socketDir, 'postgres'), (client) =>
    client.query('create database farebox'),
  );
}

async function countClients(connection: Connection): Promise<number> {
  const { rows } = await withClient(connection, (client) =>
    client.query<{ clients: number }>(
      `select count(*)::int as clients from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    ),
  );
  return rows[0]!.clients;
}

async function withClient<T>(
  connection: Connection,
  run: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ ...connection, ssl: false, connectionTimeoutMillis: 10_000 });
  // A connection that breaks is told by the query; the event alone would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return await run(client);
  } finally {
    await client.end().catch(() => {});
  }
}

function connectionTo(socketDir: string, database: string): Connection {
  return { host: socketDir, port, user: 'farebox', database };
}

function claimStart(dataDir: string): Promise<Claim> {
  return waitForClaim(lockFolder(dataDir, 'start'), whoAmI(), START_TIMEOUT_MS);
}

function lockFolder(dataDir: string, name: string): string {
  return path.join(dataDir, 'locks', name);
}

function whoAmI(): string {
  return `pid ${process.pid}`;
}

/** Cheaper where every look would start a `ps`. */
function isAlive(pid: number, cluster: string): boolean {
  if (process.platform === 'linux') return isServer(pid, cluster);
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
