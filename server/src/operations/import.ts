import { open, type FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import {
  frames,
  misfit,
  unreadable,
  type SnapshotEnd,
  type SnapshotHeader,
  type SnapshotMedia,
} from '../core/snapshot.ts';
import * as installation from '../db/installation.ts';
import * as snapshot from '../db/snapshot.ts';
import { unfinished, type Unfinished } from '../db/unfinished.ts';
import { proveBooks, type AuditReport } from '../ledger/audit.ts';
import {
  Damaged,
  firstLine,
  frameMaxBytes,
  proveSeal,
  readFrames,
  type Frame,
} from '../lib/frames.ts';
import { longTransaction } from '../lib/long-transaction.ts';
import { rawSql, type Database, type Transaction } from '../lib/sql.ts';
import { StorageFull, type Storage } from '../storage/storage.ts';
import { Refused } from './refused.ts';
import { releaseOpen } from './release.ts';

const inflated = promisify(inflate);
const pulseMs = 20_000;

export interface ImportOptions {
  path: string;
  /**
   * Ends every open request here and gives its reservation back: no upstream hears of it from this
   * copy.
   */
  releaseOpen?: boolean;
  /** Keeps the signing secret that came along. Called once, before anything is final. */
  keepSecret?: (secret: string) => Promise<void> | void;
  /** Called now and then with what is being done. */
  tell?: (what: string) => void;
}

export interface Imported extends SnapshotEnd {
  taken_at: string;
  checked: AuditReport['checked'];
  released: number;
  unfinished: Unfinished;
  /** Nothing of it is started or sent before the operator says so. */
  held: boolean;
}

type Frames = AsyncGenerator<Frame, undefined>;

/**
 * Loads a snapshot into an empty database and its media into the store. The commit is the last act:
 * whatever is wrong before it (the file, the schema, the books, the store) throws and leaves the
 * database empty. `Refused` says in words what an operator can do something about.
 */
export async function importSnapshot(
  db: Database,
  storage: Storage,
  options: ImportOptions,
): Promise<Imported> {
  const { path, tell = () => {} } = options;
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new Refused(`${path} cannot be read: ${error.message}.`);
  });
  try {
    const reason = unreadable(await firstLine(file));
    if (reason) throw new Refused(`${path} is not imported. ${reason}`);
    tell('checking the file');
    await proveSeal(file);
    return await load(db, storage, file, { ...options, tell });
  } catch (error) {
    if (error instanceof Damaged) {
      throw new Refused(`${path} is not imported: ${error.message}. Nothing was changed.`);
    }
    if (error instanceof StorageFull) {
      throw new Refused('The store of this service is full. The database was left empty.');
    }
    throw error;
  } finally {
    await file.close();
  }
}

async function load(
  db: Database,
  storage: Storage,
  file: FileHandle,
  options: ImportOptions & { tell: (what: string) => void },
): Promise<Imported> {
  const source = readFrames(file);
  const header = parsed<SnapshotHeader>(await expect(source, frames.header));
  const known = await snapshot.keptTables(db);
  const migrations = await snapshot.appliedMigrations(db);
  const reason = misfit(header, { migrations, tables: known.map(snapshot.shapeOf) });
  if (reason) throw new Refused(`${options.path} is not imported. ${reason}`);
  const tables = known.filter(({ name }) => header.tables.some((table) => table.name === name));
  return longTransaction(db, 'isolation level repeatable read', async (tx) => {
    await claimEmpty(tx, tables);
    const loaded = await loadRows(tx, source, tables, options.tell);
    await snapshot.settleTables(tx, tables);
    const inside = within(db, tx);
    const released = options.releaseOpen ? await releaseOpen(inside) : 0;
    const left = await unfinished(tx);
    const held = !options.releaseOpen && left.work.length + left.to_notify > 0;
    if (held) await installation.holdImported(tx);
    options.tell('proving the books');
    const { checked } = await proven(tx);
    const media = await pulsing(tx, () => loadMedia(storage, source, loaded.next, options.tell));
    const { rows, files, bytes } = media.end;
    for (const { name } of tables) {
      const missing = (rows[name] ?? 0) !== (loaded.rows[name] ?? 0);
      if (missing) throw new Damaged(`rows of ${name} are missing`);
    }
    if (files !== media.files) throw new Damaged('media are missing');
    if (header.secret !== null) await options.keepSecret?.(header.secret);
    return {
      taken_at: header.taken_at,
      rows,
      files,
      bytes,
      checked,
      released,
      unfinished: left,
      held,
    };
  });
}

/**
 * Locks before it looks, so that two imports, or an import and a first account, cannot both find it
 * empty.
 */
async function claimEmpty(tx: Transaction, tables: snapshot.Table[]): Promise<void> {
  await snapshot.lockTables(tx, tables);
  snapshot.fixTextForm(tx);
  const filled = await snapshot.filledTable(tx, tables);
  if (filled === null) return;
  throw new Refused(
    `This database is not empty: it has ${filled}. A snapshot goes into a new database, so that ` +
      'nothing is mixed or overwritten. Point DATABASE_URL or FAREBOX_DATA_DIR at an empty one.',
  );
}

async function loadRows(
  tx: Transaction,
  source: Frames,
  tables: snapshot.Table[],
  tell: (what: string) => void,
): Promise<{ rows: Record<string, number>; next: Frame }> {
  const rows: Record<string, number> = {};
  let table: snapshot.Table | undefined;
  for (;;) {
    const frame = await nextOf(source);
    if (frame.type === frames.table) {
      const { name } = parsed<{ name: string }>(frame);
      table = tables.find((each) => each.name === name);
      continue;
    }
    if (frame.type !== frames.rows) return { rows, next: frame };
    if (!table) throw new Damaged('it has rows of no table');
    const text = await inflated(frame.payload, { maxOutputLength: frameMaxBytes });
    const count = await snapshot.insertRows(tx, table, text.toString().split('\n'));
    rows[table.name] = (rows[table.name] ?? 0) + count;
    tell(`${table.name}: ${rows[table.name]} rows`);
  }
}

async function loadMedia(
  storage: Storage,
  source: Frames,
  first: Frame,
  tell: (what: string) => void,
): Promise<{ files: number; end: SnapshotEnd }> {
  let files = 0;
  let frame = first;
  while (frame.type === frames.media) {
    const { storage_key, size, sha256 } = parsed<SnapshotMedia>(frame);
    const stored = await storage.put(storage_key, bytesOf(source, size));
    const whole = stored.size === size && stored.sha256 === sha256;
    if (!whole) throw new Damaged(`${storage_key} is not whole`);
    files += 1;
    tell(`media: ${files} files`);
    frame = await nextOf(source);
  }
  if (frame.type !== frames.end) throw new Damaged('its parts are out of order');
  return { files, end: parsed<SnapshotEnd>(frame) };
}

/**
 * Not `for await`: leaving such a loop would close the source, and the next object comes out of it
 * too.
 */
async function* bytesOf(source: Frames, size: number): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0;) {
    const { payload } = await expect(source, frames.bytes);
    left -= payload.length;
    yield payload;
  }
}

async function proven(tx: Transaction): Promise<AuditReport> {
  const report = await proveBooks(tx);
  if (report.ok) return report;
  const broken = report.violations.map(
    ({ says, found }) => `- ${says}: ${JSON.stringify(found[0])}`,
  );
  const verdict = 'The books of this snapshot do not balance, so it is not imported. Broken:';
  throw new Refused([verdict, ...broken].join('\n'));
}

/** The same database, where everything happens in this one transaction. */
function within(db: Database, tx: Transaction): Database {
  return { ...db, run: tx.run, tx: (work) => work(tx) };
}

/**
 * Keeps a connection that has nothing to do from being cut off on its way through load balancers
 * and poolers.
 */
async function pulsing<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  const pulse = setInterval(() => tx.send(rawSql('select')), pulseMs);
  try {
    return await work();
  } finally {
    clearInterval(pulse);
  }
}

async function expect(source: Frames, type: string): Promise<Frame> {
  const frame = await nextOf(source);
  if (frame.type !== type) throw new Damaged('its parts are out of order');
  return frame;
}

async function nextOf(source: Frames): Promise<Frame> {
  const read = await source.next();
  if (read.done) throw new Damaged('it ends too early');
  return read.value;
}

function parsed<T>(frame: Frame): T {
  return JSON.parse(frame.payload.toString()) as T;
}
