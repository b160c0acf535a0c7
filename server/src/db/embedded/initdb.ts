/** Makes the cluster of the embedded PostgreSQL. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { findBinaries } from './binaries.ts';
import type { ClusterPaths } from './files.ts';
import { makeFolder, plainEnvironment } from './user.ts';

/**
 * Makes the cluster if it is missing. A new cluster is made under another name and renamed at the
 * end, so a crash never leaves a partial cluster.
 */
export async function createCluster(paths: ClusterPaths): Promise<void> {
  if (fs.existsSync(paths.cluster)) return;
  const home = path.dirname(paths.cluster);
  for (const name of fs.readdirSync(home).filter((one) => one.startsWith('cluster.'))) {
    fs.rmSync(path.join(home, name), { recursive: true, force: true });
  }
  const draft = `${paths.cluster}.${randomBytes(4).toString('hex')}`;
  makeFolder(draft, 0o700, paths.user);
  // The encoding and locale are given explicitly, because without LANG the database would be
  // SQL_ASCII.
  const flags = [
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--data-checksums',
    '--auth-local=trust',
    '--auth-host=reject',
    '--username=farebox',
    `--pgdata=${draft}`,
  ];
  const child = spawn(path.join(findBinaries(paths), 'bin', 'initdb'), flags, {
    ...paths.user,
    cwd: '/',
    env: plainEnvironment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr!.setEncoding('utf8').on('data', (part: string) => (errors += part));
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`initdb ended with ${code ?? signal}: ${errors.trim()}`);
  fs.renameSync(draft, paths.cluster);
}
