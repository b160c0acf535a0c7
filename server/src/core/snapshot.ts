/**
 * The form of a snapshot file, and whether one fits this service. Pure.
 *
 * The file is a tar archive with its SHA-256 behind it. Its entries, in order:
 *   farebox-snapshot-2     JSON `SnapshotHeader`
 *   tables/NAME/N.gz       parts of a table's rows in the text form of COPY, gzip
 *   media/STORAGE_KEY      the bytes of an object
 *   manifest.json          JSON `SnapshotManifest`
 */

export const snapshotVersion = 2;

export const entryNames = {
  header: `farebox-snapshot-${snapshotVersion}`,
  tables: 'tables/',
  media: 'media/',
  manifest: 'manifest.json',
} as const;

export interface Migration {
  number: number;
  name: string;
  /** SHA-256 of its text, hex. */
  sha256: string;
}

/** A table that is part of snapshots, and its columns in order. */
export interface SnapshotTable {
  name: string;
  columns: string[];
}

export interface SnapshotHeader {
  /** ISO 8601: the time whose state all rows show. */
  taken_at: string;
  migrations: Migration[];
  tables: SnapshotTable[];
  /**
   * The signing secret that was generated and stored in the data folder; null if it was configured.
   */
  secret: string | null;
}

export interface SnapshotManifest {
  /** Rows by table. */
  rows: Record<string, number>;
  files: number;
  /** Bytes of all files together. */
  bytes: number;
}

/** Why a file cannot be read, judged by the name of its first entry; null if it can be read. */
export function unreadable(first: string): string | null {
  if (first === entryNames.header) return null;
  const isFirstForm = first.startsWith('FAREBOX SNAPSHOT 1\n');
  const form = isFirstForm ? '1' : /^farebox-snapshot-(\d+)$/.exec(first)?.[1];
  if (form === undefined) return 'It is not a snapshot of Farebox.';
  return (
    `It has format ${form}, and this version of Farebox reads format ${snapshotVersion}. ` +
    'Import it with the version that took it, then update.'
  );
}

/**
 * Why a snapshot cannot be loaded into a database with these migrations and tables; null if it can.
 */
export function mismatch(
  header: SnapshotHeader,
  here: { migrations: Migration[]; tables: SnapshotTable[] },
): string | null {
  const reason = otherSchema(header.migrations, here.migrations);
  if (reason) return reason;
  // A table that is not in the snapshot belongs to someone else and is not changed.
  const columnsOf = new Map(here.tables.map(({ name, columns }) => [name, columns.join('\n')]));
  for (const { name, columns } of header.tables) {
    const known = columnsOf.get(name);
    if (known === undefined) return `It has a table ${name}, and this database has none.`;
    if (known !== columns.join('\n'))
      return `Its table ${name} has other columns than this database's.`;
  }
  return null;
}

/** Why a snapshot with the migrations `taken` does not fit a schema with `own`; null if it does. */
export function otherSchema(taken: readonly Migration[], own: readonly Migration[]): string | null {
  const other = taken.find((one, i) => i < own.length && one.sha256 !== own[i]!.sha256);
  const advice = 'Import it with the version that took it';
  if (other) return `Its migration ${other.name} differs from this version's. ${advice}.`;
  const levels = `It was taken at database migration ${taken.length}; this version needs ${own.length}.`;
  if (taken.length > own.length) return `${levels} ${advice}, or a newer one.`;
  if (taken.length === own.length) return null;
  return `${levels} ${advice}, then start this version, which migrates the database.`;
}
