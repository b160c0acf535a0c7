/** The embedded PostgreSQL as a process: find it, start it, wait for it, end it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findBinaries } from './binaries.ts';
import { port, type ClusterPaths } from './files.ts';
import { findRunning, isServer, killOrphans, readPidFile, signalTo } from './running.ts';
import { settingsFor } from './settings.ts';
import { plainEnvironment } from './user.ts';

export interface Server {
  pid: number;
  socketDir: string;
  /** False if another process had started it. */
  started: boolean;
}

const readyTimeoutMs = 600_000;
const stillHeldTimeoutMs = 60_000;
const orphansLeftMs = 1000;
const hiddenServerMs = 1000;
const logMaxBytes = 4 * 2 ** 20;

/**
 * Adopts the server that already runs on this cluster, or starts one. Resolves when it accepts
 * connections. Only the holder of the start claim may call this.
 */
export async function bringUp(
  paths: ClusterPaths,
  settings: Record<string, string>,
  signal?: AbortSignal,
): Promise<Server> {
  const begin = performance.now();
  for (;;) {
    const running = findRunning(paths.cluster);
    if (running) {
      const ready = await waitUntilReady(paths, running.pid, null, signal);
      if (ready) return ready;
      continue;
    }
    await clearStaleFiles(paths, signal);
    const logStart = rotateLog(paths.logFile);
    const child = await launch(paths, settings);
    const ready = await waitUntilReady(paths, child.pid!, child, signal);
    if (ready) return ready;
    const log = fs.readFileSync(paths.logFile).subarray(logStart).toString('utf8').trim();
    const waited_ms = performance.now() - begin;
    // Waiting helps: backends of a killed server have not noticed its end yet, or the process that
    // started a server was killed before the server wrote its pid.
    const passing = /is still in use|"postmaster.pid" already exists/.test(log);
    if (!passing || waited_ms > stillHeldTimeoutMs) {
      throw new Error(`PostgreSQL did not start (${paths.logFile}): ${log.slice(-1000)}`);
    }
    if (waited_ms > orphansLeftMs) killOrphans(paths.cluster);
    await delay(100, undefined, { signal });
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/**
 * Ends the server on this cluster: committed data is kept, clients are disconnected. Resolves when
 * it has ended, or at once if none runs.
 */
export async function stopServer(cluster: string): Promise<void> {
  const running = findRunning(cluster);
  if (!running) return;
  const steps = [
    ['SIGINT', 60_000],
    ['SIGQUIT', 10_000],
    ['SIGKILL', 10_000],
  ] as const;
  for (const [signal, patience_ms] of steps) {
    const deadline = performance.now() + patience_ms;
    if (!isServer(running.pid, cluster)) return;
    signalTo(running.pid, signal);
    while (performance.now() < deadline) {
      if (!isServer(running.pid, cluster)) return;
      await delay(5);
    }
  }
  throw new Error(`PostgreSQL with pid ${running.pid} does not stop`);
}

/**
 * Moves a log of a few MB to a second file. Works also while the server writes, because the server
 * appends.
 * @returns the log's size afterwards, in bytes
 */
export function rotateLog(logFile: string): number {
  const size = fs.statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size < logMaxBytes) return size;
  try {
    fs.copyFileSync(logFile, `${logFile}.1`);
  } catch {
    // The disk is full, so the old text is dropped.
  }
  try {
    fs.truncateSync(logFile);
    return 0;
  } catch {
    return size;
  }
}

async function launch(
  paths: ClusterPaths,
  settings: Record<string, string>,
): Promise<ChildProcess> {
  const log = fs.openSync(paths.logFile, 'a', 0o600);
  try {
    // Its own session, so that Ctrl-C in the terminal reaches only the service.
    const child = spawn(
      path.join(findBinaries(paths), 'bin', 'postgres'),
      ['-D', paths.cluster, ...settingsFor(paths.socketDir, settings)],
      {
        ...paths.user,
        cwd: '/',
        env: plainEnvironment,
        detached: true,
        stdio: ['ignore', log, log],
      },
    );
    await once(child, 'spawn');
    child.unref();
    return child;
  } finally {
    fs.closeSync(log);
  }
}

/** Null if the process ended before it accepted connections. */
async function waitUntilReady(
  paths: ClusterPaths,
  pid: number,
  child: ChildProcess | null,
  signal?: AbortSignal,
): Promise<Server | null> {
  const deadline = performance.now() + readyTimeoutMs;
  while (performance.now() < deadline) {
    if (child ? hasEnded(child) : !isServer(pid, paths.cluster)) return null;
    const file = readPidFile(paths.cluster);
    if (file?.pid === pid) {
      if (file.status === 'ready')
        return { pid, socketDir: file.socketDir, started: child !== null };
      // Checked only here: a caller that gives up needs the pid file to find and stop the server.
      signal?.throwIfAborted();
    }
    await delay(5);
  }
  throw new Error(`PostgreSQL with pid ${pid} accepts no connections: see ${paths.logFile}`);
}

/**
 * Removes the pid and lock files of a dead server. PostgreSQL considers such a file valid as long
 * as any process of its user has the file's pid, which is likely in a container with its few pids.
 * The caller has made sure that no visible server runs on this cluster. If the socket answers all
 * the same, a server runs where its pid is hidden, such as in another container with the same
 * volume. A second server would destroy the data.
 */
async function clearStaleFiles(paths: ClusterPaths, signal?: AbortSignal): Promise<void> {
  const socket = path.join(paths.socketDir, `.s.PGSQL.${port}`);
  const deadline = performance.now() + hiddenServerMs;
  while (await doesAnswer(socket)) {
    if (findRunning(paths.cluster)) return;
    if (performance.now() > deadline) {
      throw new Error(
        `another PostgreSQL uses ${paths.cluster}, perhaps in another container, since its ` +
          'process is not visible here: stop it first',
      );
    }
    await delay(50, undefined, { signal });
  }
  fs.rmSync(path.join(paths.cluster, 'postmaster.pid'), { force: true });
  fs.rmSync(`${socket}.lock`, { force: true });
}

function doesAnswer(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(socketPath);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
