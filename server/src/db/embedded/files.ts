/** Paths of the embedded PostgreSQL and of its data. */
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { codeOf } from '../../lib/unknown.ts';
import { writeAtomically } from '../../lib/files/write-atomically.ts';
import { canEnter, isRoot, makeFolder, myUid, unprivilegedUser, type User } from './user.ts';

export interface ClusterPaths {
  /** PGDATA; does not exist before the first start. */
  cluster: string;
  socketDir: string;
  logFile: string;
  /** Folder for a copy of the programs, in case the user cannot run the package's programs. */
  copies: string;
  user: User;
}

/** Socket paths are limited to 103 bytes on macOS and to 107 on Linux. */
export const maxSocketPathBytes = 100;
export const port = 5432;

const pointerName = 'postgres_location';

/**
 * Makes sure that the data folder exists and is writable.
 * @returns its path without symbolic links
 */
export function openDataDir(dataDir: string): string {
  if (dataDir.includes('\n')) throw new Error('the path of the data folder contains a line break');
  // For root, PostgreSQL runs as another user, who must be able to enter this folder.
  if (!fs.existsSync(dataDir)) makeFolder(path.resolve(dataDir), isRoot() ? 0o711 : 0o700);
  const real = fs.realpathSync(dataDir);
  try {
    fs.accessSync(real, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    const { uid } = fs.statSync(real);
    throw new Error(
      `cannot write in ${real}, which belongs to uid ${uid}: start as that user (this process is ` +
        `uid ${myUid()}), or give this user access`,
    );
  }
  return real;
}

/**
 * Decides all paths. Only the holder of the start claim may call this.
 *
 * If this process is root, PostgreSQL runs as the owner of the existing cluster. For a new cluster
 * it runs as `postgres`, or as `nobody` if that user is missing.
 *
 * Normally the cluster is `<dataDir>/postgres/cluster`. If PostgreSQL's user cannot reach `dataDir`
 * (a clone below /root, mode 0700), the cluster is `<systemDir>/<hash>-<random>/cluster`. The file
 * `<dataDir>/postgres_location` contains that folder, so that later starts find the cluster even if
 * the data folder was moved. Deleting the data folder also deletes this file: the next start makes
 * a new, empty cluster, and the old cluster stays in `systemDir` until it is deleted by hand.
 *
 * If PostgreSQL's user cannot run the programs of the npm package, they are copied. Root copies
 * them into `systemDir`, for all data folders; any other user copies them into `dataDir`.
 *
 * @param dataDir as `openDataDir` returned it
 */
export function locate(dataDir: string, systemDir: string): ClusterPaths {
  const home = findHome(dataDir) ?? makeHome(dataDir, systemDir);
  const cluster = path.join(home, 'cluster');
  const user = userOf(cluster);
  if (!canEnter(user, home)) {
    throw new Error(
      `the database in ${home} belongs to uid ${user?.uid}, which cannot reach it: run ` +
        'chmod o+x on the folders above it',
    );
  }
  return {
    cluster,
    socketDir: socketFolder(home, user),
    logFile: path.join(dataDir, 'postgres.log'),
    copies: isRoot() ? systemDir : dataDir,
    user,
  };
}

/** A private folder with a short path, the same for all processes with the same `key`. */
export function shortFolder(key: string, user: User): string {
  // /tmp first: TMPDIR may differ between the service and a command typed by hand.
  const parents = ['/tmp', os.tmpdir()];
  const parent = parents.find((one) => fs.existsSync(one) && canEnter(user, one)) ?? '/tmp';
  const folder = path.join(parent, `farebox-${hash(key)}`);
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
    if (user) fs.lchownSync(folder, user.uid, user.gid);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  // In a public folder anybody may have created a folder with this name.
  const found = fs.lstatSync(folder);
  const owner = user?.uid ?? myUid();
  if (!found.isDirectory() || found.uid !== owner || (found.mode & 0o077) !== 0) {
    throw new Error(`${folder} already exists, but is not a private folder of uid ${owner}`);
  }
  return folder;
}

function findHome(dataDir: string): string | null {
  const pointer = path.join(dataDir, pointerName);
  if (fs.existsSync(pointer)) {
    const home = fs.readFileSync(pointer, 'utf8').trim();
    // Making a new cluster here would look as if all money were lost.
    if (!fs.existsSync(home)) {
      throw new Error(
        `the database of ${dataDir} was kept in ${home}, which is gone: bring it back, or ` +
          `delete ${pointer} to start with an empty database`,
      );
    }
    return home;
  }
  const home = path.join(dataDir, 'postgres');
  return fs.existsSync(home) ? home : null;
}

/**
 * Makes the folder of a new cluster. Root keeps the folder and gives only its contents to
 * PostgreSQL's user, so that this user cannot replace a part of root's path with a link.
 */
function makeHome(dataDir: string, systemDir: string): string {
  const user = unprivilegedUser();
  const mode = user ? 0o711 : 0o700;
  if (canEnter(user, dataDir)) {
    const home = path.join(dataDir, 'postgres');
    makeFolder(home, mode);
    return home;
  }
  makeFolder(systemDir, 0o755);
  const home = path.join(systemDir, `${hash(dataDir)}-${randomBytes(3).toString('hex')}`);
  makeFolder(home, mode);
  writeAtomically(path.join(dataDir, pointerName), `${home}\n`, { replaces: true });
  return home;
}

function userOf(cluster: string): User {
  const found = fs.statSync(cluster, { throwIfNoEntry: false });
  if (!found) return unprivilegedUser();
  if (isRoot()) return { uid: found.uid, gid: found.gid };
  if (found.uid === myUid()) return null;
  throw new Error(
    `the database in ${cluster} belongs to uid ${found.uid}, but this process runs as ` +
      `${myUid()}: start it as that user or as root`,
  );
}

function socketFolder(home: string, user: User): string {
  const usual = path.join(home, 'run');
  if (Buffer.byteLength(path.join(usual, `.s.PGSQL.${port}`)) >= maxSocketPathBytes) {
    return shortFolder(home, user);
  }
  makeFolder(usual, 0o700, user);
  return usual;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
