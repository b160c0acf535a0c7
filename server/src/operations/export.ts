import { createHash } from 'node:crypto';
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import {
  frames,
  snapshotKind,
  snapshotVersion,
  type SnapshotEnd,
  type SnapshotHeader,
  type SnapshotMedia,
} from '../core/snapshot.ts';
import * as snapshot from '../db/snapshot.ts';
import { unfinished, type Unfinished } from '../db/unfinished.ts';
import { FrameWriter, type Seal } from '../lib/frames.ts';
import { longTransaction } from '../lib/long-transaction.ts';
import type { Database, Transaction } from '../lib/sql.ts';
import { pieces } from '../lib/streams.ts';
import type { Storage } from '../storage/storage.ts';
import { Refused } from './refused.ts';

const deflated = promisify(deflate);
/** Of rows, before they are deflated: what one statement of the import takes. */
const rowsBytes = 1024 * 1024;
const mediaBytes = 256 * 1024;

export interface ExportOptions {
  /** A file that is not there yet; it appears whole or not at all, for its owner's eyes only. */
  path: string;
  /** The signing secret to take along; null: none. */
  secret: string | null;
  /** Called now and then with what is being written. */
  tell?: (what: string) => void;
}

export interface Exported extends SnapshotEnd {
  seal: Seal;
  /** Media whose bytes were gone when their turn came: they expired meanwhile. */
  gone: number;
  unfinished: Unfinished;
}

/**
 * Writes everything into one file: all kept tables as one moment shows them, and the bytes of
 * living media. A service may run on meanwhile. Throws `Refused` where the file cannot be written
 * or a stored object is damaged.
 */
export async function exportSnapshot(
  db: Database,
  storage: Storage,
  options: ExportOptions,
): Promise<Exported> {
  const { path } = options;
  if (await stat(path).catch(() => null))
    throw new Refused(`${path} is there already. Name a new file.`);
  const part = `${path}.part`;
  await rm(part, { force: true });
  try {
    const file = await open(part, 'wx', 0o600);
    try {
      const exported = await write(db, storage, new FrameWriter(file), options);
      await file.sync();
      await rename(part, path);
      await syncFolder(dirname(path));
      return exported;
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
  file: FrameWriter,
  { secret, tell = () => {} }: ExportOptions,
): Promise<Exported> {
  await file.begin(`${snapshotKind} ${snapshotVersion}`);
  // The list of media is held in memory, so that the transaction need not wait for their bytes:
  // while it is open, a running service's database cannot clean up behind itself.
  const mode = 'isolation level repeatable read, read only';
  const { rows, media, left } = await longTransaction(db, mode, async (tx) => ({
    rows: await writeRows(tx, file, secret, tell),
    media: await snapshot.livingMedia(tx),
    left: await unfinished(tx),
  }));
  const end: SnapshotEnd = { rows, files: 0, bytes: 0 };
  for (const object of media) {
    tell(`media: ${end.files} of ${media.length} files`);
    if (!(await writeObject(storage, file, object))) continue;
    end.files += 1;
    end.bytes += object.size;
  }
  await file.write(frames.end, json(end));
  return { ...end, seal: await file.seal(), gone: media.length - end.files, unfinished: left };
}

async function writeRows(
  tx: Transaction,
  file: FrameWriter,
  secret: string | null,
  tell: (what: string) => void,
): Promise<Record<string, number>> {
  snapshot.fixTextForm(tx);
  const tables = await snapshot.keptTables(tx);
  const header: SnapshotHeader = {
    taken_at: (await snapshot.transactionTime(tx)).toISOString(),
    migrations: await snapshot.appliedMigrations(tx),
    tables: tables.map(snapshot.shapeOf),
    secret,
  };
  await file.write(frames.header, json(header));
  const counts: Record<string, number> = {};
  for (const table of tables) {
    await file.write(frames.table, json({ name: table.name }));
    let count = 0;
    for await (const lines of gathered(snapshot.readRows(tx, table, rowsBytes))) {
      await file.write(frames.rows, await deflated(lines.join('\n')));
      count += lines.length;
      tell(`${table.name}: ${count} rows`);
    }
    counts[table.name] = count;
  }
  return counts;
}

/** Lines of about `rowsBytes` together, at most; a longer one stands alone. */
async function* gathered(parts: AsyncIterable<string[]>): AsyncGenerator<string[]> {
  let lines: string[] = [];
  let length = 0;
  for await (const part of parts) {
    for (const line of part) {
      if (lines.length > 0 && length + line.length > rowsBytes) {
        yield lines;
        lines = [];
        length = 0;
      }
      lines.push(line);
      length += line.length;
    }
  }
  if (lines.length > 0) yield lines;
}

/** False where its bytes are gone. */
async function writeObject(
  storage: Storage,
  file: FrameWriter,
  object: SnapshotMedia,
): Promise<boolean> {
  const { storage_key, size, sha256 } = object;
  const body = await storage.open(storage_key);
  if (body === null) return false;
  await file.write(frames.media, json(object));
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of pieces(body, mediaBytes)) {
    hash.update(piece);
    bytes += piece.length;
    await file.write(frames.bytes, piece);
  }
  if (bytes === size && hash.digest('hex') === sha256) return true;
  throw new Refused(
    `The stored object ${storage_key} is not the ${size} bytes that it was. ` +
      'Take it out of the store, or bring it back from a backup, and export again.',
  );
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
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
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const reasons: Record<string, string> = {
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk quota is used up',
    ENOENT: 'its folder is not there',
    ENOTDIR: 'its folder is no folder',
    EACCES: 'this user may not write there',
    EROFS: 'the disk is read-only',
  };
  const reason = reasons[code];
  return reason ? new Refused(`${path} could not be written: ${reason}.`) : error;
}
