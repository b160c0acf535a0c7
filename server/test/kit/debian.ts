import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Programs of Debian, fetched into a cache folder and not installed. */

const cache = join(homedir(), '.cache', 'farebox-test', 'debian');
const fetchMaxMs = 120_000;
const run = promisify(execFile);

/** The environment in which a program finds the libraries that were unpacked beside it. */
export function besideLibraries(folder: string): NodeJS.ProcessEnv {
  const libraries = ['x86_64', 'aarch64'].map((kind) => join(folder, `usr/lib/${kind}-linux-gnu`));
  return { ...process.env, LD_LIBRARY_PATH: libraries.join(':') };
}

/**
 * The folder with the unpacked files of a Debian package and of those that it needs; null where
 * packages cannot be fetched. The tests of its program are then skipped as `not run: PROGRAM`, which
 * the run's last lines list.
 */
export async function debianPackage(name: string, needs: string[] = []): Promise<string | null> {
  const done = join(cache, [name, ...needs].join('+'));
  if (existsSync(done)) return done;
  await mkdir(cache, { recursive: true });
  const mine = await mkdtemp(join(cache, '.fetching-'));
  try {
    const at = { cwd: mine, timeout: fetchMaxMs };
    await run('apt-get', ['download', '-qq', name, ...needs], at);
    for (const file of await readdir(mine)) await run('dpkg-deb', ['--extract', file, 'files'], at);
    // Another test may have fetched it meanwhile.
    await rename(join(mine, 'files'), done).catch(() => {});
    return existsSync(done) ? done : null;
  } catch {
    return null;
  } finally {
    await rm(mine, { recursive: true, force: true });
  }
}
