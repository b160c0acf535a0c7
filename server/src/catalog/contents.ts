import type { Owners } from '../core/catalog/catalog-conflicts.ts';
import type { FileProblem } from '../core/catalog/catalog-file.ts';
import type { Model } from '../core/catalog/catalog.ts';
import type { UpstreamDefinition } from '../core/catalog/upstream-definition.ts';
import type { Folder, LoadedFile } from './folder.ts';

/** Everything in the catalog files, including what callers do not see. */
export interface CatalogContents {
  /** Each file, with the comment at its head and whether it has a problem now. */
  files: { file: string; note: string; rows: number; has_problem: boolean }[];
  rows: FiledRow[];
  /** Rows that are not used, and the problem that prevents it. */
  left_out: { id: string; file: string; line: number; problem: FileProblem }[];
  upstreams: { file: string; definition: UpstreamDefinition }[];
}

/** A row that is used, live or hidden. */
export interface FiledRow {
  model: Model;
  file: string;
  /** Null: the file no longer contains the row, or cannot be read. */
  line: number | null;
  note: string;
  /** The present problem of the row's file; the row is kept as it was before the problem. */
  problem: FileProblem | null;
}

export function contentsOf({
  files,
  rows,
  owners,
  upstreams,
  upstreamOwners,
}: Folder): CatalogContents {
  const outlines = new Map(
    files.map(({ file, parsed }) => [file, new Map(parsed.outline.map((row) => [row.id, row]))]),
  );
  const problems = new Map(files.map(({ file, problems: own }) => [file, own]));
  const filed = rows.map((model): FiledRow => {
    const file = owners.get(model.id)!;
    const { line = null, note = '' } = outlines.get(file)?.get(model.id) ?? {};
    return { model, file, line, note, problem: problems.get(file)?.[0] ?? null };
  });
  return {
    files: files.map(({ file, parsed, rows: own, problems: wrong }) => {
      return { file, note: parsed.note, rows: own.length, has_problem: wrong.length > 0 };
    }),
    rows: filed,
    left_out: files.flatMap((file) => leftOutOf(file, owners)),
    upstreams: upstreams.map((definition) => {
      return { file: upstreamOwners.get(definition.name)!, definition };
    }),
  };
}

/**
 * The unused rows of a file. Only a file with a problem has any: its new rows, or all if the file
 * was never valid.
 */
function leftOutOf(
  { file, parsed, problems }: LoadedFile,
  owners: Owners,
): CatalogContents['left_out'] {
  if (problems.length === 0) return [];
  return parsed.outline.flatMap(({ id, line }, i) => {
    if (owners.has(id)) return [];
    const own = problems.find(({ path }) => `${path}/`.startsWith(`/models/${i}/`));
    return [{ id, file, line, problem: own ?? problems[0]! }];
  });
}
