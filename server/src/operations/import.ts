import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer, json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type pg from 'pg';
import {
  entryNames,
  mismatch,
  otherSchema,
  unreadable,
  type SnapshotHeader,
  type SnapshotManifest,
  type SnapshotTable,
} from '../core/snapshot.ts';
import * as addresses from '../db/deposits/addresses.ts';
import * as installation from '../db/installation.ts';
import { readMigrations } from '../db/migrate.ts';
import * as snapshot from '../db/snapshot.ts';
import { readUnfinished, type UnfinishedWork } from '../db/requests/unfinished.ts';
import { proveBooks, type AuditReport } from '../ledger/audit.ts';
import { runLongTransaction } from '../lib/sql/long-transaction.ts';
import {
  DamagedArchive,
  readFirstName,
  proveSeal,
  readEntries,
  type TarEntry,
} from '../lib/files/sealed-tar.ts';
import { rawSql, within, type Database, type Transaction } from '../lib/sql/sql.ts';
import { StorageFull, type Storage } from '../storage/storage.ts';
import { CommandFailed } from './refusal.ts';
import { releaseOpen } from './requests/release.ts';

const gunzipped = promisify(gunzip);
const pulseMs = 20_000;

export interface ImportOptions {
  path: string;
  /** Ends every open request and returns its reservation, without calling any upstream. */
  releaseOpen?: boolean;
  /** Stores the signing secret of the snapshot. Called once, before the commit. */
  keepSecret?: (secret: string) => Promise<void> | void;
  /** Called from time to time with a description of the current step. */
  tell?: (what: string) => void;
}

export interface ImportResult extends SnapshotManifest {
  taken_at: string;
  checked: AuditReport['checked'];
  released: number;
  unfinished: UnfinishedWork;
  /** True if nothing is started or sent until the operator allows it. */
  held: boolean;
}

/**
 * Loads a snapshot into an empty database and its media into the storage. The commit comes last:
 * any fault before it (in the file, the schema, the books or the storage) throws and leaves the
 * database empty. It throws `CommandFailed` for a fault that the operator can fix.
 */
export async function importSnapshot(
  db: Database,
  storage: Storage,
  options: ImportOptions,
): Promise<ImportResult> {
  const { path, tell = () => {} } = options;
  tell('checking the file');
  try {
    return await withSnapshot(path, (file) => load(db, storage, file, { ...options, tell }));
  } catch (error) {
    if (!(error instanceof StorageFull)) throw error;
    throw new CommandFailed('The storage of this service is full. The database was left empty.');
  }
}

/**
 * Throws `CommandFailed` if this version cannot import the file. Called before the database is
 * opened, because that migrates it, and then the version that took the snapshot could not use it.
 */
export async function demandImportable(path: string): Promise<void> {
  await withSnapshot(path, async (file) => {
    const source = await Source.open(file);
    const { migrations } = await source.take<SnapshotHeader>(entryNames.header);
    const reason = otherSchema(migrations, await readMigrations());
    if (reason) throw new CommandFailed(`${path} is not imported. ${reason}`);
  });
}

/** Opens an undamaged snapshot for `work`. Throws `CommandFailed` for any other file. */
async function withSnapshot<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`${path} cannot be read: ${error.message}.`);
  });
  try {
    const reason = unreadable(await readFirstName(file));
    if (reason) throw new CommandFailed(`${path} is not imported. ${reason}`);
    await proveSeal(file);
    return await work(file);
  } catch (error) {
    if (!(error instanceof DamagedArchive)) throw error;
    throw new CommandFailed(`${path} is not imported: ${error.message}. Nothing was changed.`);
  } finally {
    await file.close();
  }
}

async function load(
  db: Database,
  storage: Storage,
  file: FileHandle,
  options: ImportOptions & { tell: (what: string) => void },
): Promise<ImportResult> {
  const source = await Source.open(file);
  const header = await source.take<SnapshotHeader>(entryNames.header);
  const known = await snapshot.listKeptTables(db);
  const migrations = await snapshot.listMigrations(db);
  const reason = mismatch(header, { migrations, tables: known });
  if (reason) throw new CommandFailed(`${options.path} is not imported. ${reason}`);
  const tables = known.filter(({ name }) => header.tables.some((table) => table.name === name));
  return runLongTransaction(db, 'isolation level repeatable read', async (tx, client) => {
    await claimEmpty(tx, tables);
    const counts = await loadRows(client, source, tables, options.tell);
    await snapshot.settleTables(tx, tables);
    const released = options.releaseOpen ? await releaseOpen(within(db, tx)) : 0;
    const left = await readUnfinished(tx);
    const toSend = left.to_notify + left.events_to_send;
    const held = !options.releaseOpen && left.work.length + toSend > 0;
    if (held) await installation.holdImported(tx);
    // The original service may have issued more addresses. A copy on hold skips them when resumed.
    else await addresses.leaveOut(tx);
    options.tell('checking the books');
    const { checked } = await demandSoundBooks(tx);
    const loaded = await workWithPulse(tx, () => loadMedia(storage, source, options.tell));
    const manifest = await source.take<SnapshotManifest>(entryNames.manifest);
    for (const { name } of tables)
      if (manifest.rows[name] !== counts.get(name))
        throw new DamagedArchive(`rows of ${name} are missing`);
    if (manifest.files !== loaded) throw new DamagedArchive('media are missing');
    if (header.secret !== null) await options.keepSecret?.(header.secret);
    const { taken_at } = header;
    return { taken_at, ...manifest, checked, released, unfinished: left, held };
  });
}

/**
 * Locks the tables before it checks that they are empty. Otherwise two imports, or an import and
 * the creation of a first account, could both find the database empty.
 */
async function claimEmpty(tx: Transaction, tables: SnapshotTable[]): Promise<void> {
  await snapshot.lockTables(tx, tables);
  const filled = await snapshot.findFilledTable(tx, tables);
  if (filled === null) return;
  throw new CommandFailed(
    `This database is not empty: it has ${filled}. A snapshot goes into a new database, so that ` +
      'nothing is mixed or overwritten. Point DATABASE_URL or FAREBOX_DATA_DIR at an empty one.',
  );
}

const none: TarEntry = { name: '', size: 0, body: Readable.from([]) };

/** Reads the entries of a snapshot in order. */
class Source {
  /** The entry to read next; its name is empty after the last one. */
  entry!: TarEntry;
  readonly #entries: AsyncGenerator<TarEntry, undefined>;

  private constructor(file: FileHandle) {
    this.#entries = readEntries(file);
  }

  static async open(file: FileHandle): Promise<Source> {
    const source = new Source(file);
    await source.readNext();
    return source;
  }

  async readNext(): Promise<void> {
    const { value = none } = await this.#entries.next();
    this.entry = value;
  }

  /** The JSON of the next entry, which must have this name. */
  async take<Entry>(name: string): Promise<Entry> {
    if (this.entry.name !== name) throw new DamagedArchive('its parts are out of order');
    const value = await json(this.entry.body);
    await this.readNext();
    // The archive's checksum proves that an export wrote this value.
    return value as Entry;
  }
}

/** Loads all tables. Returns the number of rows of each. */
async function loadRows(
  client: pg.Client,
  source: Source,
  tables: SnapshotTable[],
  tell: (what: string) => void,
): Promise<Map<string, number>> {
  const counts = new Map(tables.map(({ name }) => [name, 0]));
  for (let name = tableIn(source); name !== null; name = tableIn(source)) {
    const table = tables.find((each) => each.name === name);
    if (table === undefined) throw new DamagedArchive('it has rows of an unknown table');
    const copy = snapshot.copyIn(client, table);
    await pipeline(readRows(name, source, tell), copy);
    counts.set(name, copy.rowCount);
  }
  return counts;
}

async function* readRows(
  table: string,
  source: Source,
  tell: (what: string) => void,
): AsyncGenerator<Uint8Array> {
  for (; tableIn(source) === table; await source.readNext()) {
    tell(source.entry.name);
    yield await gunzipped(await buffer(source.entry.body));
  }
}

/** The table whose rows come next; null: there are no more rows. */
function tableIn({ entry: { name } }: Source): string | null {
  const { tables } = entryNames;
  return name.startsWith(tables) ? name.slice(tables.length, name.lastIndexOf('/')) : null;
}

/** Stores all media. Returns how many. */
async function loadMedia(
  storage: Storage,
  source: Source,
  tell: (what: string) => void,
): Promise<number> {
  let files = 0;
  for (; source.entry.name.startsWith(entryNames.media); await source.readNext()) {
    const { name, size, body } = source.entry;
    const stored = await storage.put(name.slice(entryNames.media.length), body);
    if (stored.size !== size) throw new DamagedArchive(`${name} is incomplete`);
    files += 1;
    tell(`media: ${files} files`);
  }
  return files;
}

async function demandSoundBooks(tx: Transaction): Promise<AuditReport> {
  const report = await proveBooks(tx);
  if (report.ok) return report;
  const broken = report.violations.map(
    ({ says, found }) => `- ${says}: ${JSON.stringify(found[0])}`,
  );
  const verdict = 'The books of this snapshot do not balance, so it is not imported. Broken:';
  throw new CommandFailed([verdict, ...broken].join('\n'));
}

/**
 * Queries the database regularly, so that load balancers and poolers do not cut an idle connection.
 */
async function workWithPulse<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  const pulse = setInterval(() => tx.send(rawSql('select')), pulseMs);
  try {
    return await work();
  } finally {
    clearInterval(pulse);
  }
}
