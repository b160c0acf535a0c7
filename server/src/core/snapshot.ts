/**
 * The form of a snapshot file, and whether one fits this service. Pure.
 *
 * After its first line the file is frames, in this order:
 *   H  JSON `SnapshotHeader`
 *   T  JSON `{name}`: the table that the row frames behind it belong to
 *   R  deflated JSON lines, one row each: an array of the columns as PostgreSQL writes them in
 * text, or null
 *   M  JSON `SnapshotMedia`: the object that the byte frames behind it make up
 *   B  bytes
 *   E  JSON `SnapshotEnd`
 */

export const snapshotKind = 'FAREBOX SNAPSHOT';
export const snapshotVersion = 1;

/** Letters of the frames. */
export const frames = {
  header: 'H',
  table: 'T',
  rows: 'R',
  media: 'M',
  bytes: 'B',
  end: 'E',
} as const;

export interface Migration {
  number: number;
  name: string;
  /** Of its text, hex. */
  sha256: string;
}

/** A kept table; its columns in order. */
export interface Shape {
  name: string;
  columns: string[];
}

export interface SnapshotHeader {
  /** ISO 8601: the moment that all rows show. */
  taken_at: string;
  migrations: Migration[];
  tables: Shape[];
  /**
   * The signing secret that was made and kept in the data folder; null where it came from outside.
   */
  secret: string | null;
}

export interface SnapshotMedia {
  storage_key: string;
  size: number;
  /** Hex. */
  sha256: string;
}

export interface SnapshotEnd {
  /** Rows by table. */
  rows: Record<string, number>;
  files: number;
  /** Of all files together. */
  bytes: number;
}

/** Why a file with this first line is not read, or null. */
export function unreadable(line: string | null): string | null {
  if (line === `${snapshotKind} ${snapshotVersion}`) return null;
  if (!line?.startsWith(`${snapshotKind} `)) return 'It is no snapshot of Farebox.';
  const version = line.slice(snapshotKind.length + 1);
  return `It has form ${version}, and this version of Farebox reads form ${snapshotVersion}.`;
}

/** Why a snapshot cannot be loaded into a database with these migrations and tables, or null. */
export function misfit(
  header: SnapshotHeader,
  here: { migrations: Migration[]; tables: Shape[] },
): string | null {
  const [taken, own] = [header.migrations, here.migrations];
  const other = taken.find((one, i) => i < own.length && one.sha256 !== own[i]!.sha256);
  const advice = 'Import it with the version that took it';
  if (other) return `Its migration ${other.name} is not the one of this version. ${advice}.`;
  const levels = `It was taken at migration ${taken.length}; this database is at ${own.length}.`;
  if (taken.length > own.length) return `${levels} ${advice}, or a newer one.`;
  if (taken.length < own.length) {
    return `${levels} ${advice}, then start this one: it brings the schema up.`;
  }
  return unlike(header.tables, here.tables);
}

function unlike(taken: Shape[], own: Shape[]): string | null {
  const columnsOf = new Map(own.map(({ name, columns }) => [name, columns]));
  for (const { name, columns } of taken) {
    const known = columnsOf.get(name);
    if (!known) return `It has a table ${name}, and this database has none.`;
    if (known.join('\n') !== columns.join('\n')) {
      return `Its table ${name} has other columns than the one of this database.`;
    }
  }
  // A table that the snapshot does not know is somebody else's, and stays as it is.
  return null;
}
