import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Programs of Debian, fetched into a cache folder and not installed. */

/** Root's home is closed to the users as which PostgreSQL and its company run. */
const caches = process.getuid?.() === 0 ? '/var/cache' : join(homedir(), '.cache');
const cache = join(caches, 'farebox-test', 'debian');
const fetchMaxMs = 120_000;
const run = promisify(execFile);

export const haproxyNeeds = ['liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1'];

/** The environment in which programs find each other, their libraries and modules in these folders. */
export function besideLibraries(...folders: string[]): NodeJS.ProcessEnv {
  const all = (...paths: string[]) =>
    folders.flatMap((folder) => paths.map((path) => join(folder, path))).join(':');
  return {
    ...process.env,
    PATH: `${all('usr/bin', 'usr/sbin')}:${process.env.PATH}`,
    LD_LIBRARY_PATH: all('usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu'),
    PYTHONPATH: all('usr/lib/python3/dist-packages'),
  };
}

/**
 * The folder with the unpacked files of a Debian package and of those that it needs; null where
 * packages cannot be fetched. The tests of its program are then skipped as `not run: PROGRAM`, which
 * the run's last lines list.
 */
export async function debianPackage(name: string, needs: string[] = []): Promise<string | null> {
  const digest = createHash('sha256').update(needs.join()).digest('hex').slice(0, 8);
  const done = join(cache, `${name}-${digest}`);
  if (existsSync(done)) return done;
  await mkdir(cache, { recursive: true });
  const mine = await mkdtemp(join(cache, '.fetching-'));
  try {
    const at = { cwd: mine, timeout: fetchMaxMs };
    const download = (...options: string[]) =>
      run('apt-get', [...options, 'download', '-qq', name, ...needs], at);
    await download().catch(async () => {
      // The machine has no lists of packages, or old ones.
      const lists = ['-o', `Dir::State::Lists=${mine}/lists`, '-o', `Dir::Cache=${mine}/cache`];
      await mkdir(`${mine}/lists/partial`, { recursive: true });
      await mkdir(`${mine}/cache`);
      await run('apt-get', [...lists, 'update', '-qq'], at);
      await download(...lists);
    });
    const files = (await readdir(mine)).filter((file) => file.endsWith('.deb'));
    for (const file of files) await run('dpkg-deb', ['--extract', file, 'files'], at);
    await useOwnPython(join(mine, 'files/usr/bin'));
    // Another test may have fetched it meanwhile.
    await rename(join(mine, 'files'), done).catch(() => {});
    return existsSync(done) ? done : null;
  } catch {
    return null;
  } finally {
    await rm(mine, { recursive: true, force: true });
  }
}

/** Lets programs in Python start with the first `python3` of the path, which may be unpacked, too. */
async function useOwnPython(bin: string): Promise<void> {
  for (const name of existsSync(bin) ? await readdir(bin) : []) {
    const file = join(bin, name);
    // As bytes, because a changed text of a binary would not be the same.
    const text = await readFile(file, 'latin1').catch(() => '');
    if (text.startsWith('#!/usr/bin/python3\n'))
      await writeFile(file, text.replace('/usr/bin/python3', '/usr/bin/env python3'), 'latin1');
  }
}
