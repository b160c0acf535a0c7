/** Finds the processes of the embedded PostgreSQL. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { codeOf } from '../../lib/unknown.ts';

/** Contents of postmaster.pid. */
export interface PidFile {
  pid: number;
  socketDir: string;
  status: string;
}

/** The running server on this cluster, even while it starts or stops; null if there is none. */
export function findRunning(cluster: string): PidFile | null {
  const file = readPidFile(cluster);
  return file && isServer(file.pid, cluster) ? file : null;
}

/** Whether that pid is this cluster's server, and not another process that got the pid later. */
export function isServer(pid: number, cluster: string): boolean {
  return commandOf(pid).includes(`\0-D\0${cluster}\0`);
}

export function readPidFile(cluster: string): PidFile | null {
  try {
    const lines = fs.readFileSync(path.join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    if (!Number.isInteger(pid) || pid <= 0) return null;
    return { pid, socketDir: lines[4] ?? '', status: (lines[7] ?? '').trim() };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** The arguments of a process, with a NUL before and after each; '' if there is no such process. */
function commandOf(pid: number): string {
  try {
    if (process.platform === 'linux') {
      return `\0${fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')}`;
    }
    // `ps` does not separate the arguments, but the path lies between -D and the first -c.
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
 * Kills the backends that a killed server has left. A backend in a long computation does not notice
 * the end of its server and keeps the shared memory, though its result is lost. Does nothing
 * outside Linux, where the start waits for these backends.
 */
export function killOrphans(cluster: string): void {
  if (process.platform !== 'linux') return;
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const here = pids.filter((pid) => folderOf(pid) === cluster);
  for (const pid of here) {
    const isBackend = commandOf(Number(pid)).startsWith('\0postgres: ');
    if (!isBackend || here.includes(parentOf(pid))) continue;
    signalTo(Number(pid), 'SIGKILL');
  }
}

export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // The process has ended by itself in the meantime.
    if (codeOf(error) !== 'ESRCH') throw error;
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
