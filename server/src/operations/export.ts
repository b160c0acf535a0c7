import { createHash } from 'node:crypto';
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type pg from 'pg';
import { entryNames, type SnapshotHeader, type SnapshotManifest } from '../core/snapshot.ts';
import * as snapshot from '../db/snapshot.ts';
import { readUnfinished, type UnfinishedWork } from '../db/requests/unfinished.ts';
import { runLongTransaction } from '../lib/sql/long-transaction.ts';
import { tarWriter, type Seal, type TarWriter } from '../lib/files/sealed-tar.ts';
import type { Database, Transaction } from '../lib/sql/sql.ts';
import { pieces } from '../lib/streams.ts';
import { codeOf } from '../lib/unknown.ts';
import type { Storage } from '../storage/storage.ts';
import { CommandFailed } from './refusal.ts';

const gzipped = promisify(gzip);
/**
 * Bytes of rows in one tar entry. Tables are split because an entry's header states its length, so
 * an entry is held in memory.
 */
const partBytes = 4 * 1024 * 1024;

export interface ExportOptions {
  /**
   * A file that does not exist yet. It appears only when it is complete, and only its owner can
   * read it.
   */
  path: string;
  /** The signing secret to include; null: none. */
  secret: string | null;
  /** Called from time to time with a description of the current step. */
  tell?: (what: string) => void;
}

export interface ExportResult extends SnapshotManifest {
  seal: Seal;
  /** Media that expired during the export, so their bytes are not in the file. */
  gone: number;
  unfinished: UnfinishedWork;
}

/**
 * Writes everything into one file: all kept tables as of one moment, and the bytes of all media
 * that still exist. A service may keep running meanwhile. Throws `CommandFailed` if the file cannot
 * be written or a stored object is damaged.
 */
export async function exportSnapshot(
  db: Database,
  storage: Storage,
  options: ExportOptions,
): Promise<ExportResult> {
  return writeNewFile(options.path, (file) => write(db, storage, tarWriter(file), options));
}

/**
 * Lets `fill` write a file that does not exist yet, under the name of its part. The file appears
 * only when it is complete, and only its owner can read it. Throws `CommandFailed` if it cannot be
 * written.
 */
export async function writeNewFile<T>(
  path: string,
  fill: (file: FileHandle, part: string) => Promise<T>,
): Promise<T> {
  if (await stat(path).catch(() => null))
    throw new CommandFailed(`${path} already exists. Name a new file.`);
  const part = `${path}.part`;
  await rm(part, { force: true });
  try {
    const file = await open(part, 'wx', 0o600);
    try {
      const filled = await fill(file, part);
      await file.sync();
      await rename(part, path);
      await syncFolder(dirname(path));
      return filled;
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(part, { force: true }).catch(() => {});
    throw inWords(error, path);
  }
}

async function write(
  db: Database,
  storage: Storage,
  tar: TarWriter,
  { secret, tell = () => {} }: ExportOptions,
): Promise<ExportResult> {
  // The list of media is kept in memory, so that the transaction can end before their bytes are
  // copied: while it is open, a running service's database cannot clean up old rows.
  const mode = 'isolation level repeatable read, read only';
  const { copies, media, left } = await runLongTransaction(db, mode, async (tx, client) => ({
    copies: await writeTables(tx, client, tar, secret, tell),
    media: await snapshot.listLivingMedia(tx),
    left: await readUnfinished(tx),
  }));
  const rows = Object.fromEntries([...copies].map(([name, { rowCount }]) => [name, rowCount]));
  const manifest: SnapshotManifest = { rows, files: 0, bytes: 0 };
  for (const object of media) {
    tell(`media: ${manifest.files} of ${media.length} files`);
    const body = await storage.open(object.storage_key);
    // The object expired meanwhile.
    if (body === null) continue;
    const size = Number(object.size);
    await tar.add(`${entryNames.media}${object.storage_key}`, size, completeBody(body, object));
    manifest.files += 1;
    manifest.bytes += size;
  }
  await addJson(tar, entryNames.manifest, manifest);
  const gone = media.length - manifest.files;
  return { ...manifest, seal: await tar.seal(), gone, unfinished: left };
}

/** Copies each table. A row count is known only after the statement that follows the COPY. */
async function writeTables(
  tx: Transaction,
  client: pg.Client,
  tar: TarWriter,
  secret: string | null,
  tell: (what: string) => void,
): Promise<Map<string, { rowCount: number }>> {
  const tables = await snapshot.listKeptTables(tx);
  const header: SnapshotHeader = {
    taken_at: (await snapshot.readTransactionTime(tx)).toISOString(),
    migrations: await snapshot.listMigrations(tx),
    tables,
    secret,
  };
  await addJson(tar, entryNames.header, header);
  const copies = new Map<string, { rowCount: number }>();
  for (const table of tables) {
    const copy = snapshot.copyOut(client, table);
    copies.set(table.name, copy);
    let part = 0;
    for await (const piece of pieces(copy, partBytes)) {
      tell(`${table.name}: part ${(part += 1)}`);
      await addBytes(tar, `${entryNames.tables}${table.name}/${part}.gz`, await gzipped(piece));
    }
  }
  return copies;
}

/** Passes on the bytes of an object. Throws `CommandFailed` if they changed since it was stored. */
async function* completeBody(
  body: AsyncIterable<Uint8Array>,
  { storage_key, size, sha256 }: snapshot.SnapshotObject,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of body) {
    hash.update(piece);
    bytes += piece.length;
    if (bytes > size) break;
    yield piece;
  }
  if (BigInt(bytes) === size && hash.digest('hex') === sha256) return;
  throw new CommandFailed(
    `The stored object ${storage_key} no longer has the ${size} bytes that were stored. ` +
      'Remove it from the storage, or restore it from a backup, and export again.',
  );
}

function addJson(tar: TarWriter, name: string, value: object): Promise<void> {
  return addBytes(tar, name, Buffer.from(JSON.stringify(value)));
}

function addBytes(tar: TarWriter, name: string, bytes: Buffer): Promise<void> {
  return tar.add(name, bytes.length, Readable.from([bytes]));
}

async function syncFolder(path: string): Promise<void> {
  const folder: FileHandle = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function inWords(error: unknown, path: string): unknown {
  const reasons: Record<string, string> = {
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk quota is used up',
    ENOENT: 'its folder does not exist',
    ENOTDIR: 'its folder is a file',
    EACCES: 'this user may not write there',
    EROFS: 'the disk is read-only',
  };
  const reason = reasons[codeOf(error)];
  return reason ? new CommandFailed(`${path} could not be written: ${reason}.`) : error;
}
