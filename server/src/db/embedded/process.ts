/** The embedded PostgreSQL as a process: is it there, start it, wait for it, end it. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { port, type Place } from './files.ts';
import { settingsFor } from './settings.ts';
import { makeFolder, plainEnvironment } from './user.ts';

export interface Server {
  pid: number;
  socketDir: string;
  /** Null where another process started it. */
  child: ChildProcess | null;
}

/** What PostgreSQL writes about itself into postmaster.pid. */
interface PidFile {
  pid: number;
  socketDir: string;
  status: string;
}

const READY_TIMEOUT_MS = 600_000;
const STILL_HELD_TIMEOUT_MS = 60_000;
const ORPHANS_LEFT_MS = 3000;

/** Makes the cluster, whole or not at all. */
export async function createCluster(place: Place): Promise<void> {
  if (fs.existsSync(place.cluster)) return;
  const home = path.dirname(place.cluster);
  for (const name of fs.readdirSync(home).filter((one) => one.startsWith('cluster.'))) {
    fs.rmSync(path.join(home, name), { recursive: true, force: true });
  }
  const draft = `${place.cluster}.${randomBytes(4).toString('hex')}`;
  makeFolder(draft, 0o700, place.user);
  // Given one by one, since without LANG the database would be SQL_ASCII.
  const flags = [
    ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
    ...['--data-checksums', '--auth-local=trust', '--auth-host=reject', '--no-instructions'],
    ...['--username=farebox', `--pgdata=${draft}`],
  ];
  const child = spawn(path.join(place.binaries, 'bin', 'initdb'), flags, {
    ...place.user,
    cwd: '/',
    env: plainEnvironment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr!.setEncoding('utf8').on('data', (part: string) => (errors += part));
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`initdb ended with ${code ?? signal}: ${errors.trim()}`);
  fs.renameSync(draft, place.cluster);
}

/**
 * Adopts the server that runs on this cluster, or starts one; resolves when it takes connections.
 * To be called by the holder of the start claim only.
 */
export async function bringUp(place: Place, settings: Record<string, string>): Promise<Server> {
  const begin = performance.now();
  for (;;) {
    const running = findRunning(place.cluster);
    if (running) {
      const ready = await untilReady(place, running.pid, null);
      if (ready) return ready;
      continue;
    }
    clearStaleFiles(place);
    const logStart = rotateLog(place.logFile);
    const child = await launch(place, settings);
    const ready = await untilReady(place, child.pid!, child);
    if (ready) return ready;
    const log = fs.readFileSync(place.logFile).subarray(logStart).toString('utf8').trim();
    const waited = performance.now() - begin;
    // Backends of a killed server live on until they notice.
    if (!log.includes('is still in use') || waited > STILL_HELD_TIMEOUT_MS) {
      throw new Error(`PostgreSQL did not start (${place.logFile}): ${log.slice(-1000)}`);
    }
    if (waited > ORPHANS_LEFT_MS) killOrphans(place.cluster);
    await delay(100);
  }
}

/** The living server on this cluster, in whatever state it is. */
export function findRunning(cluster: string): PidFile | null {
  const file = readPidFile(cluster);
  return file && isServer(file.pid, cluster) ? file : null;
}

/** Whether that pid is this cluster's server, not a stranger who got the number after it. */
export function isServer(pid: number, cluster: string): boolean {
  return commandOf(pid).includes(`\0-D\0${cluster}\0`);
}

/**
 * Ends the server on this cluster: what is committed is kept, who is connected is cut off.
 * Resolves when it is gone; fine where none runs.
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
    process.kill(running.pid, signal);
    while (performance.now() < deadline) {
      if (!isServer(running.pid, cluster)) return;
      await delay(5);
    }
  }
  throw new Error(`PostgreSQL with pid ${running.pid} does not end`);
}

/**
 * Keeps the log and the one before it below a few MB each. Also right while a server writes,
 * since it appends. @returns the log's size afterwards
 */
export function rotateLog(logFile: string): number {
  const size = fs.statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size < 4 * 2 ** 20) return size;
  fs.copyFileSync(logFile, `${logFile}.1`);
  fs.truncateSync(logFile);
  return 0;
}

async function launch(place: Place, settings: Record<string, string>): Promise<ChildProcess> {
  const log = fs.openSync(place.logFile, 'a', 0o600);
  try {
    // A session of its own: Ctrl-C in the terminal is for the service alone.
    const child = spawn(
      path.join(place.binaries, 'bin', 'postgres'),
      ['-D', place.cluster, ...settingsFor(place.socketDir, settings)],
      {
        ...place.user,
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

/** Null when the process ended before it took connections. */
async function untilReady(
  place: Place,
  pid: number,
  child: ChildProcess | null,
): Promise<Server | null> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const gone = child
      ? child.exitCode !== null || child.signalCode !== null
      : !isServer(pid, place.cluster);
    if (gone) return null;
    const file = readPidFile(place.cluster);
    if (file?.pid === pid && file.status === 'ready') {
      return { pid, socketDir: file.socketDir, child };
    }
    await delay(5);
  }
  throw new Error(`PostgreSQL with pid ${pid} takes no connections; see ${place.logFile}`);
}

function readPidFile(cluster: string): PidFile | null {
  try {
    const lines = fs.readFileSync(path.join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    if (!Number.isInteger(pid) || pid <= 0) return null;
    return { pid, socketDir: lines[4] ?? '', status: (lines[7] ?? '').trim() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * PostgreSQL believes a leftover file as long as any process of its user has that pid, and in a
 * container with its few pids one often has. We know better: no server runs on this cluster.
 */
function clearStaleFiles(place: Place): void {
  fs.rmSync(path.join(place.cluster, 'postmaster.pid'), { force: true });
  fs.rmSync(path.join(place.socketDir, `.s.PGSQL.${port}.lock`), { force: true });
}

/** Arguments with a NUL before and after each; '' where there is no such process. */
function commandOf(pid: number): string {
  try {
    if (process.platform === 'linux') {
      return `\0${fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')}`;
    }
    // Elsewhere the borders of the arguments are not to be had; the path is in one piece.
    const text = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text.replace(/ -D (.*?) -c .*/s, '\0-D\0$1\0');
  } catch {
    return '';
  }
}

/**
 * A backend in a long computation does not notice that its server was killed and keeps the
 * shared memory. Nothing it could still do would be kept. Linux only; elsewhere we wait for it.
 */
function killOrphans(cluster: string): void {
  if (process.platform !== 'linux') return;
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const here = pids.filter((pid) => folderOf(pid) === cluster);
  for (const pid of here) {
    const isBackend = commandOf(Number(pid)).startsWith('\0postgres: ');
    if (isBackend && !here.includes(parentOf(pid))) process.kill(Number(pid), 'SIGKILL');
  }
}

function folderOf(pid: string): string | null {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

function parentOf(pid: string): string {
  try {
    return /^PPid:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}
