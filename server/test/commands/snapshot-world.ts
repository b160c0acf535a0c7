/** Databases to export from and to import into, each with its media. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { exportSnapshot } from '../../src/operations/export.ts';
import { CommandFailed } from '../../src/operations/refusal.ts';
import { openStorage } from '../../src/storage/index.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import {
  digests,
  fill,
  oddRows,
  oddTables,
  storedIn,
  type FilledDatabase,
} from './snapshot-kit.ts';

export interface Place extends TestDatabase {
  dir: string;
  media: string;
  storage: Storage;
}

export interface World {
  /** Filled once and not changed. */
  source: Place;
  /** Refused imports must leave it untouched. */
  empty: Place;
  filled: FilledDatabase;
  /** The snapshot file of the source. */
  snapshot: string;
  /** A folder for the files that tests write. */
  folder: string;
  place(): Promise<Place>;
  stop(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const places: Place[] = [];
  const place = async () => {
    const dir = mkdtempSync(join(tmpdir(), 'farebox-snapshot-'));
    const media = join(dir, 'media');
    const made = { ...(await testDatabase()), dir, media, storage: openStorage(`disk:${media}`) };
    places.push(made);
    return made;
  };
  const folder = mkdtempSync(join(tmpdir(), 'farebox-snapshot-'));
  const [source, empty] = [await place(), await place()];
  for (const { db } of places) await runAll(db, oddTables);
  const filled = await fill(source.db, source.storage);
  await runAll(source.db, oddRows);
  const snapshot = join(folder, 'whole');
  await exportSnapshot(source.db, source.storage, { path: snapshot, secret: 'signed with this' });
  return {
    source,
    empty,
    filled,
    snapshot,
    folder,
    place,
    async stop() {
      for (const { close, dir } of places) {
        await close();
        rmSync(dir, { recursive: true, force: true });
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function runAll(db: Database, statements: string): Promise<void> {
  for (const text of statements.split(';\n')) await db.run(rawSql(text));
}

export async function assertUntouched(at: Place, why: string): Promise<void> {
  const found = Object.entries(await digests(at.db)).filter(
    ([, digest]) => !digest.startsWith('0 '),
  );
  assert.deepEqual(found, [], `${why}: rows were left behind`);
  assert.deepEqual([...storedIn(at.media).keys()], [], `${why}: media were left behind`);
}

export async function refused(work: Promise<unknown>, says: RegExp): Promise<void> {
  await assert.rejects(work, (error: Error) => {
    assert.ok(error instanceof CommandFailed, error.stack);
    assert.match(error.message, says);
    return true;
  });
}
