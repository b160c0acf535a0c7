import type { Model, ModelUpstream } from './catalog.ts';
import type { UpstreamDefinition } from './upstream-definition.ts';
import { problemsMax, type FileProblem } from './catalog-file.ts';
import { replicateName } from './replicate-name.ts';

/**
 * Rules across catalog files: each named upstream is defined, and each upstream name and row id
 * belongs to one file.
 */

/** Maximum number of shared ids that are named: enough to find the rest. */
const takenNamed = 5;

/** Reports rows that name an upstream which no file defines. */
export function unknownUpstreams(
  file: string,
  rows: readonly Model[],
  known: readonly string[],
): FileProblem[] {
  const problems = rows.flatMap(({ id, upstreams }) => {
    const wrong = upstreams.find(({ upstream }) => !known.includes(upstream));
    if (!wrong) return [];
    const message = `${id}: there is no upstream ${wrong.upstream}; the known ones are ${known.join(', ')}.`;
    return [{ file, path: `/models/${rows.findIndex((row) => row.id === id)}`, message }];
  });
  return problems.slice(0, problemsMax);
}

/** Why an upstream can never run a row. */
export interface UnsupportedRow {
  /**
   * JSON pointer into the row, such as `/task`; for a field of a route, a pointer into the route's
   * entry in `upstreams`, such as `/model`.
   */
  path: string;
  /** A sentence about the upstream, without a full stop, that states what is allowed. */
  message: string;
}

/** Returns null if the upstream can run the row. */
export type FindUnsupported = (row: Model, route: ModelUpstream) => UnsupportedRow | null;

/** Reports rows that one of their upstreams can never run. `judges`: a check for each upstream. */
export function unsupportedRows(
  file: string,
  rows: readonly Model[],
  judges: ReadonlyMap<string, FindUnsupported>,
): FileProblem[] {
  const problems = rows.flatMap((row, i) =>
    row.upstreams.flatMap((route, at): FileProblem[] => {
      const unsupported = judges.get(route.upstream)?.(row, route);
      if (!unsupported) return [];
      const path = `/models/${i}${pathOf(unsupported.path, at, row)}`;
      return [{ file, path, message: `${row.id}: ${route.upstream}: ${unsupported.message}.` }];
    }),
  );
  return problems.slice(0, problemsMax);
}

/** Fields of a row that all of its upstreams share. */
const shared: ReadonlySet<string> = new Set(['/task', '/input_modalities', '/on_cancel']);

function pathOf(path: string, at: number, { upstreams }: Model): string {
  if (shared.has(path)) return path;
  if (upstreams.length > 1) return `/upstreams/${at}${path}`;
  return path === '/model' ? '/upstream_model' : path;
}

/**
 * For each id, the file whose row counts; or for each upstream, the file whose definition counts.
 */
export type Owners = ReadonlyMap<string, string>;

/** Upstreams that need no file. */
const ownUpstreams: Owners = new Map([['sandbox', 'Farebox itself']]);

/**
 * Returns the definitions that count, one for each upstream, in the given order. The file that
 * counted in `before` still counts, so that a copy of a definition cannot send a running upstream's
 * calls to another address. A file whose definition does not count gets a problem, but its rows are
 * still read.
 */
export function withoutDuplicateUpstreams(
  files: { file: string; upstream: UpstreamDefinition | null }[],
  before: Owners = new Map(),
): { upstreams: UpstreamDefinition[]; upstreamOwners: Owners; problems: FileProblem[] } {
  const owners = new Map(ownUpstreams);
  for (const { file, upstream } of files) {
    if (upstream === null || ownUpstreams.has(upstream.name)) continue;
    const { name } = upstream;
    if (!owners.has(name) || before.get(name) === file) owners.set(name, file);
  }
  const upstreams: UpstreamDefinition[] = [];
  const problems: FileProblem[] = [];
  for (const { file, upstream } of files) {
    if (upstream === null) continue;
    const owner = owners.get(upstream.name)!;
    const message = `the upstream ${upstream.name} is already defined by ${owner}.`;
    if (owner === file) upstreams.push(upstream);
    else problems.push({ file, path: '/upstream', message });
  }
  return { upstreams, upstreamOwners: owners, problems };
}

/**
 * Returns the rows that count, one for each id, in the given order. If the file that counted in
 * `before` still has the id, it counts again, so that a new file changes no live price; otherwise
 * the first file with the id counts. Each pair of files that share ids gives one problem, for the
 * file whose rows do not count.
 */
export function withoutDuplicateIds(
  files: { file: string; rows: readonly Model[] }[],
  before: Owners = new Map(),
): { rows: Model[]; owners: Owners; problems: FileProblem[] } {
  const owners = new Map<string, string>();
  for (const { file, rows } of files) {
    for (const { id } of rows) {
      if (!owners.has(id) || before.get(id) === file) owners.set(id, file);
    }
  }
  const counting = new Map<string, Model>();
  const names = new Map<string, string>();
  const problems: FileProblem[] = [];
  for (const { file, rows } of files) {
    const taken = new Map<string, string[]>();
    for (const row of rows) {
      const owner = owners.get(row.id)!;
      const name = replicateName(row.id);
      const namesake = names.get(name) ?? row.id;
      names.set(name, namesake);
      if (namesake !== row.id)
        problems.push({ file, path: '', message: sameName(row.id, namesake) });
      else if (owner === file && !counting.has(row.id)) counting.set(row.id, row);
      else if (taken.has(owner)) taken.get(owner)!.push(row.id);
      else taken.set(owner, [row.id]);
    }
    for (const [owner, ids] of taken) {
      problems.push({ file, path: '', message: takenBy(owner, ids) });
    }
  }
  return { rows: [...counting.values()], owners, problems };
}

function sameName(id: string, other: string): string {
  return `${id}: ${other} has the same name for Replicate's client, ${replicateName(id)}.`;
}

function takenBy(owner: string, ids: string[]): string {
  if (ids.length === 1) return `${ids[0]}: ${owner} already has a row with this id.`;
  const named = ids.slice(0, takenNamed).join(', ');
  const more = ids.length > takenNamed ? ', …' : '';
  return `${ids.length} ids already have a row in ${owner}: ${named}${more}.`;
}
