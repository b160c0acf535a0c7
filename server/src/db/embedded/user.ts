/** The user that runs the embedded PostgreSQL, and checks of its rights. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { makeFolders } from '../../lib/files/make-folders.ts';

/** User of a process to start; null: the same user as this process. */
export type User = { uid: number; gid: number } | null;

/** Environment of the programs. This process's own environment may contain secrets. */
export const plainEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

export function isRoot(): boolean {
  return myUid() === 0;
}

export function myUid(): number | undefined {
  return process.getuid?.();
}

/**
 * The user for a new cluster: for root, which PostgreSQL refuses, `postgres`, or `nobody` if that
 * user is missing. Throws if both users are missing.
 */
export function unprivilegedUser(): User {
  if (!isRoot()) return null;
  const lines = fs.readFileSync('/etc/passwd', 'utf8').split('\n');
  const rows = lines.map((line) => line.split(':'));
  const row = rows.find((one) => one[0] === 'postgres') ?? rows.find((one) => one[0] === 'nobody');
  if (!row) {
    throw new Error(
      'PostgreSQL does not run as root, and neither the user postgres nor the user nobody exists: ' +
        'start as an ordinary user, or set DATABASE_URL',
    );
  }
  // macOS writes the ids of `nobody` as -2.
  return { uid: Number(row[2]) >>> 0, gid: Number(row[3]) >>> 0 };
}

export function canEnter(user: User, folder: string): boolean {
  return user === null || passes(user, 'cd -- "$1"', folder);
}

/** Runs a shell test as that user. No other check covers every mode bit, ACL and mount. */
export function passes(user: User, script: string, ...args: string[]): boolean {
  const result = spawnSync('/bin/sh', ['-c', script, 'sh', ...args], {
    ...user,
    cwd: '/',
    env: plainEnvironment,
    stdio: 'ignore',
  });
  return result.status === 0;
}

/**
 * Makes a folder and its missing parents with exactly this mode, whatever the umask. The folder is
 * given to `user` even if it existed, because a crash may have prevented that earlier.
 */
export function makeFolder(folder: string, mode: number, user: User = null): void {
  const first = makeFolders(folder);
  if (first !== undefined) {
    const above = path.dirname(first);
    for (let each = folder; each !== above; each = path.dirname(each)) fs.chmodSync(each, mode);
  }
  if (user) fs.lchownSync(folder, user.uid, user.gid);
}
