import type { Catalog } from '../core/catalog/catalog.ts';
import type { FileProblem } from '../core/catalog/catalog-file.ts';
import type { Folder, LoadedFile } from './folder.ts';

/** The methods of a pino logger that are used. */
export interface CatalogLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Maximum number of entries in one line of the log. */
const rowsLogged = 20;
const idsLogged = 3;

/** Logs new and resolved problems; a lasting problem is logged once. */
export function report(
  { files, problems, warnings }: Folder,
  before: Folder,
  log: CatalogLog,
): void {
  for (const problem of newAmong(problems, before.problems))
    log.warn({ problem }, consequence(problem, files));
  const losses = newAmong(warnings, before.warnings);
  if (losses.length > 0) {
    const shown = { warnings: losses.slice(0, rowsLogged), count: losses.length };
    log.warn(shown, 'catalog rows can cost more than they are sold for');
  }
  const bad = new Set(problems.map(({ file }) => file));
  // While the folder cannot be read, nothing is known about its files.
  if (bad.has('')) return;
  const had = before.problems.map(({ file }) => file || '.');
  const mended = new Set(had.filter((file) => !bad.has(file)));
  if (mended.size > 0) log.info({ files: [...mended] }, 'catalog problems are gone');
}

function newAmong<T extends FileProblem>(now: T[], before: T[]): T[] {
  return now.filter(
    ({ file, message }) => !before.some((each) => each.file === file && each.message === message),
  );
}

function consequence(problem: FileProblem, files: LoadedFile[]): string {
  if (problem.file === '') return 'catalog folder has a problem';
  const { upstream, rows, problems } = files.find(({ file }) => file === problem.file)!;
  if (!problems.includes(problem))
    return 'catalog file has a problem; what another file already defines is ignored';
  const isDefined = upstream !== null;
  const what = isDefined ? 'definition and rows stay in use' : 'rows stay in use';
  const stays = rows.length > 0 ? what : isDefined ? 'definition stays in use' : null;
  return `catalog file has a problem; ${stays === null ? 'it has no rows' : `its last good ${stays}`}`;
}

/** Logs how many rows callers cannot see, and why, whenever that changes. */
export function reportHidden(
  now: Catalog['hidden'],
  before: Catalog['hidden'],
  say: CatalogLog['info'],
): void {
  const rows = now.filter(
    ({ id, reason }) => !before.some((each) => each.id === id && each.reason === reason),
  );
  if (rows.length === 0) return;
  // Grouped by reason, because a line for each row would bury the other lines of the log.
  const hidden = [...Map.groupBy(rows, ({ reason }) => reason)].map(([reason, of]) => {
    return { reason, count: of.length, ids: of.slice(0, idsLogged).map(({ id }) => id) };
  });
  const shown = { hidden: hidden.slice(0, rowsLogged), count: rows.length };
  say(shown, 'catalog rows are hidden: none of their upstreams is set up');
}
