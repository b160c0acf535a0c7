/**
 * PostgreSQL inside the data folder, for installations without their own server.
 *
 * The server outlives the process that started it: after a `kill -9` of the service, the next start
 * adopts it. From `startEmbedded` to `stop` or `release` a process holds the server by an open
 * connection. If this connection breaks, the process starts the server again. While it is open,
 * other processes see that the server is in use. Several processes may hold the server at once.
 */
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { messageOf } from '../lib/unknown.ts';
import { findPackage } from './embedded/binaries.ts';
import { claim, waitForClaim, type FolderClaim } from './embedded/claim.ts';
import {
  connectionTo,
  hasOtherClients,
  hold,
  letGo,
  type ServerAddress,
} from './embedded/database.ts';
import { locate, openDataDir, type ClusterPaths } from './embedded/files.ts';
import { createCluster } from './embedded/initdb.ts';
import { bringUp, rotateLog, stopServer, type Server } from './embedded/process.ts';
import { findRunning } from './embedded/running.ts';

export type { ServerAddress };

export interface EmbeddedOptions {
  /** Made if missing. The cluster is in `postgres/`, the log is `postgres.log`. */
  dataDir: string;
  log?: (message: string) => void;
  /** More settings, such as `{ work_mem: '8MB' }`. Not applied to an adopted server. */
  settings?: Record<string, string>;
  /** For root: the folder of files that PostgreSQL's user could not reach in `dataDir`. */
  systemDir?: string;
}

export interface EmbeddedServer {
  readonly connection: ServerAddress;
  /** False if a running server was adopted. */
  readonly started: boolean;
  /** Changes when the server has ended by itself and was started again. */
  readonly pid: number;
  /** The folder of the database files. */
  readonly cluster: string;
  /** Stops the server even if others use it. Resolves when it has ended. */
  stop(): Promise<void>;
  /**
   * Releases the server, and stops it if nobody else is connected. This process's own connections
   * count too, so close them first. Returns true if the server was stopped.
   */
  stopIfUnused(): Promise<boolean>;
  /** Leaves the server running and stops watching it. */
  release(): Promise<void>;
}

const startTimeoutMs = 600_000;
const logCheckEveryMs = 30_000;

/**
 * Starts the data folder's PostgreSQL or adopts the running one. After that the database `farebox`
 * exists and accepts connections. Rejects with an error that says what to do if this platform, user
 * or folder cannot run PostgreSQL.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  // Throws before anything is written if this platform has no PostgreSQL.
  findPackage();
  const { settings = {}, log = () => {} } = options;
  const dataDir = openDataDir(options.dataDir);
  const starting = await claimStart(dataDir);
  try {
    const paths = locate(dataDir, options.systemDir ?? '/var/lib/farebox');
    await createCluster(paths);
    const server = await bringUp(paths, settings);
    const holder = await hold(server.socketDir);
    const how = server.started ? 'started' : 'adopted';
    log(`PostgreSQL ${how}: pid ${server.pid}, ${paths.cluster}`);
    return new Supervisor({ dataDir, paths, server, holder, settings, log });
  } finally {
    starting.release();
  }
}

/**
 * Claims the data folder, because only one service may run on it. The claim lasts until it is
 * released or this process ends in any way.
 * @param info shown to a second claimant, such as the pid and address of this service
 */
export async function claimFolder(
  dataDir: string,
  info: string,
): Promise<{ release(): void } | { held_by: string }> {
  return claim(lockFolder(openDataDir(dataDir), 'service'), info);
}

interface HeldCluster {
  dataDir: string;
  paths: ClusterPaths;
  server: Server;
  holder: Client;
  settings: Record<string, string>;
  log: (message: string) => void;
}

class Supervisor implements EmbeddedServer {
  readonly started: boolean;
  #held: HeldCluster;
  #rotation: NodeJS.Timeout;
  #reviving: Promise<void> = Promise.resolve();
  #over = new AbortController();

  constructor(held: HeldCluster) {
    this.#held = held;
    this.started = held.server.started;
    this.#rotation = setInterval(() => rotateLog(held.paths.logFile), logCheckEveryMs).unref();
    this.#watch();
  }

  get connection(): ServerAddress {
    return connectionTo(this.#held.server.socketDir, 'farebox');
  }

  get cluster(): string {
    return this.#held.paths.cluster;
  }

  get pid(): number {
    return this.#held.server.pid;
  }

  async stop(): Promise<void> {
    await this.release();
    await stopServer(this.#held.paths.cluster);
  }

  async stopIfUnused(): Promise<boolean> {
    await this.release();
    const { dataDir, paths } = this.#held;
    // A process that starts now waits for the claim; a process that has started is connected.
    const starting = await claimStart(dataDir);
    try {
      // guard: verb-leaves-postgres
      if (findRunning(paths.cluster) && (await hasOtherClients(this.connection.host))) return false;
      await stopServer(paths.cluster);
      return true;
    } finally {
      starting.release();
    }
  }

  async release(): Promise<void> {
    this.#over.abort();
    clearInterval(this.#rotation);
    await this.#reviving;
    await letGo(this.#held.holder);
  }

  #watch(): void {
    this.#held.holder.once('end', () => {
      if (this.#over.signal.aborted) return;
      this.#held.log(`PostgreSQL with pid ${this.pid} has ended: starting it again`);
      // guard: postgres-comes-back
      this.#reviving = this.#revive();
    });
  }

  async #revive(): Promise<void> {
    const { log } = this.#held;
    const { signal } = this.#over;
    for (let pause_ms = 100; ; pause_ms = Math.min(pause_ms * 2, 5000)) {
      try {
        await this.#bringBack();
        break;
      } catch (error) {
        if (signal.aborted) return;
        log(`PostgreSQL could not be started again: ${messageOf(error)}`);
        await delay(pause_ms, undefined, { signal }).catch(() => {});
      }
    }
    if (signal.aborted) return;
    log(`PostgreSQL runs again: pid ${this.pid}`);
    this.#watch();
  }

  async #bringBack(): Promise<void> {
    const { dataDir, paths, server, settings } = this.#held;
    const { signal } = this.#over;
    const starting = await claimStart(dataDir, signal);
    try {
      // Clients already use this socket folder, so it must stay the same.
      const samePaths = { ...paths, socketDir: server.socketDir };
      const revived = await bringUp(samePaths, settings, signal);
      this.#held.holder = await hold(revived.socketDir);
      this.#held.server = revived;
    } finally {
      starting.release();
    }
  }
}

function claimStart(dataDir: string, signal?: AbortSignal): Promise<FolderClaim> {
  return waitForClaim(lockFolder(dataDir, 'start'), whoAmI(), startTimeoutMs, signal);
}

function lockFolder(dataDir: string, name: string): string {
  return path.join(dataDir, 'locks', name);
}

function whoAmI(): string {
  return `pid ${process.pid}`;
}
