import { restoredWhy } from '../core/restored.ts';
import * as installation from '../db/installation.ts';
import { findNames } from '../db/stored-names.ts';
import type { Database } from '../lib/sql/sql.ts';
import { messageOf } from '../lib/unknown.ts';
import type { ListedObject, Storage } from '../storage/storage.ts';
import { CommandFailed } from './refusal.ts';

/** Younger objects may be about to be named by a row. */
const youngMs = 24 * 3600 * 1000;
/** A key has the id of its request or account. A small version is used as long as its image. */
const shape =
  /^((?:outputs|files)\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\/[\da-f-]+)(?:\.\w+\.webp)?$/;

/** An object with which a store was tried. Others may keep their own below the same name. */
const probe = /^probe\/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Finds the objects that no row names, page by page; `removes`: deletes those that are older than a
 * day. `unknown` counts those whose account or ended request this database does not have: they are
 * of another installation, of the original of a copy, or may yet get their row. `data` are the
 * first.
 */
export async function findOrphans(
  db: Database,
  storage: Pick<Storage, 'list' | 'remove'>,
  { removes, limit }: { removes: boolean; limit: number },
) {
  if (removes && (await isRestored(db)))
    throw new CommandFailed(
      'This database is a restored copy, whose original may use these objects.',
    );
  const data: (ListedObject & { removed: boolean })[] = [];
  const sum = { orphans: 0, bytes: 0, removed: 0, failed: 0, unknown: 0 };
  for (const prefix of ['outputs', 'files', 'probe'])
    for await (const page of pagesOf(storage, prefix, sum)) {
      const { orphans, unknown } = await judge(db, page);
      sum.unknown += unknown;
      for (const object of orphans) {
        const isDue = removes && Date.now() - object.stored_at.getTime() > youngMs;
        // One that is locked there keeps no others.
        const removed = isDue && (await isDone(storage.remove(object.key)));
        sum.orphans += 1;
        sum.bytes += object.size;
        sum.removed += Number(removed);
        sum.failed += Number(isDue && !removed);
        if (data.length < limit) data.push({ ...object, removed });
      }
    }
  return { ...sum, data };
}

async function* pagesOf(storage: Pick<Storage, 'list'>, prefix: string, done: { removed: number }) {
  try {
    yield* storage.list(prefix);
  } catch (cause) {
    const before = done.removed > 0 ? `; removed before: ${done.removed}` : '';
    const message = `The storage does not list its objects: ${messageOf(cause)}${before}`;
    throw new CommandFailed(message, { cause });
  }
}

async function isRestored(db: Database): Promise<boolean> {
  const row = await installation.find(db);
  if (row === null) return false;
  const timeline = await installation.knownTimeline(db);
  return row.held_since !== null || restoredWhy(row, null, timeline) !== null;
}

function isDone(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

async function judge(db: Database, page: ListedObject[]) {
  const parsed = page.map((object) => {
    const [, base = object.key, owner] = shape.exec(object.key) ?? [];
    return { object, base, owner };
  });
  const names = await findNames(db, {
    owners: parsed.flatMap(({ owner }) => owner ?? []),
    keys: parsed.map(({ base }) => base),
  });
  // A probe of the storage has no owner, and is over after seconds.
  const own = parsed.filter(({ owner, base }) =>
    owner === undefined ? probe.test(base) : names.has(owner),
  );
  const orphans = own.flatMap(({ base, object }) => (names.has(base) ? [] : object));
  return { orphans, unknown: page.length - own.length };
}
