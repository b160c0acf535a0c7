import * as scratch from '../db/scratch.ts';
import { verifySchema } from '../db/migrate.ts';
import * as snapshot from '../db/snapshot.ts';
import { audit, type AuditReport } from '../ledger/audit.ts';
import {
  dump,
  majorOf,
  ProgramFailed,
  restore,
  type DumpProgram,
  type DumpAddress,
} from '../lib/sql/dump.ts';
import type { Database } from '../lib/sql/sql.ts';
import { codeOf } from '../lib/unknown.ts';
import type { Storage } from '../storage/storage.ts';
import { writeNewFile } from './export.ts';
import { CommandFailed } from './refusal.ts';

/** Backups of large databases, by PostgreSQL's own programs. Media stay where they are stored. */

const missingShown = 10;
const noRight = '42501';

export interface BackupPlace extends DumpAddress {
  /** The backup's file. */
  path: string;
}

export interface BackupReport {
  books: AuditReport;
  /** Stored objects that callers may still download. */
  media: number;
  /** How many of them are not in the storage, and the keys of the first. */
  missing: number;
  missing_keys: string[];
}

/** Writes a file that does not exist yet; it appears whole. Returns its size in bytes. */
export async function writeBackup(db: Database, place: BackupPlace): Promise<number> {
  await demandProgram(db, 'pg_dump', place);
  return writeNewFile(place.path, async (file, part) => {
    await inWords(dump(place, part));
    return (await file.stat()).size;
  });
}

/** Restores the backup into a database for a moment, and proves its books and media there. */
export async function checkBackup(
  db: Database,
  storage: Storage,
  place: BackupPlace,
  open: (url: string) => Database,
): Promise<BackupReport> {
  await demandProgram(db, 'pg_restore', place);
  const name = await scratch.make(db).catch(tellOfRight);
  const url = new URL(place.url);
  url.pathname = `/${name}`;
  try {
    await inWords(restore({ ...place, url: url.href }, place.path));
    const copy = open(url.href);
    try {
      return await prove(copy, storage);
    } finally {
      await copy.close();
    }
  } finally {
    await scratch.remove(db, name);
  }
}

/** Restores the backup into an empty database, all or nothing. */
export async function restoreBackup(
  db: Database,
  storage: Storage,
  place: BackupPlace,
): Promise<BackupReport> {
  await demandProgram(db, 'pg_restore', place);
  const tables = await scratch.countTables(db);
  if (tables > 0)
    throw new CommandFailed(
      `This database already has ${tables} tables, and nothing was changed. Create an empty one ` +
        '(createdb NAME), set DATABASE_URL to it, and restore again. Keep the old one: it may have later bookings.',
    );
  await inWords(restore(place, place.path));
  return prove(db, storage);
}

async function prove(db: Database, storage: Storage): Promise<BackupReport> {
  await verifySchema(db);
  const books = await audit(db);
  const media = await snapshot.listLivingMedia(db);
  const missing: string[] = [];
  for (const { storage_key, size } of media)
    if (!(await isStored(storage, storage_key, Number(size)))) missing.push(storage_key);
  const missing_keys = missing.slice(0, missingShown);
  return { books, media: media.length, missing: missing.length, missing_keys };
}

/** Reads the last byte only, because media may be larger than the database by far. */
async function isStored(storage: Storage, key: string, size: number): Promise<boolean> {
  const body = await storage.open(key, { start: size - 1, end: size - 1 }).catch(() => null);
  if (body === null) return false;
  let bytes = 0;
  for await (const piece of body) bytes += piece.length;
  return bytes === 1;
}

/** Another major version may read and write other archives. */
async function demandProgram(db: Database, program: DumpProgram, { env }: BackupPlace) {
  const server = await scratch.majorOfServer(db);
  const own = await majorOf(program, env);
  if (own === server) return;
  const found = own === null ? `${program} was not found` : `${program} has version ${own}`;
  throw new CommandFailed(
    `${found}, and the server has version ${server}. Install PostgreSQL's programs of version ${server} ` +
      `(on Debian the package postgresql-client-${server}) and put them first on the PATH.`,
  );
}

async function inWords(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if (!(cause instanceof ProgramFailed)) throw cause;
    throw new CommandFailed(cause.message, { cause });
  }
}

function tellOfRight(cause: unknown): never {
  if (codeOf(cause) !== noRight) throw cause;
  throw new CommandFailed(
    'A check restores into a database of its own, and this role may create none. Run as its owner: ' +
      'alter role NAME createdb. Or check with a DATABASE_URL of another server of the same version.',
    { cause },
  );
}
