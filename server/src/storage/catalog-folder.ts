import {
  unsupportedRows,
  settleIds,
  settleUpstreams,
  unknownUpstreams,
} from '../core/catalog/catalog-conflicts.ts';
import type { FindUnsupported, Owners } from '../core/catalog/catalog-conflicts.ts';
import type { ParsedFile, Problem } from '../core/catalog/catalog-file.ts';
import type { Model } from '../core/catalog/catalog.ts';
import { statedLosses } from '../core/catalog/listed-price.ts';
import type { UpstreamDefinition } from '../core/catalog/upstream-definition.ts';
import { readFiles, type ReadFile } from './catalog-files.ts';

export interface FolderOptions {
  /** Folder of the `.yaml` and `.yml` files; other files and subfolders are ignored. */
  dir: string;
  /**
   * Upstreams that need no definition in a file: a row that names neither one of them nor a defined
   * one is wrong. Left out: any name is allowed.
   */
  knownUpstreams?: readonly string[];
  /** Why a definition cannot be used as it is written; null if it can. */
  definitionFault?: (upstream: UpstreamDefinition) => string | null;
  /** Checks the rows that name the upstream of a definition. */
  unsupportedRowOf?: (upstream: UpstreamDefinition) => FindUnsupported;
}

/** A warning about the row with this id. */
export type Warning = Problem & { id: string };

/** The used contents of a file: if it has become bad, those from before. */
export interface LoadedFile extends ReadFile, ParsedFile {}

export interface Folder {
  files: LoadedFile[];
  /** The used rows of all files. */
  rows: Model[];
  /** The file in which each id is used. */
  owners: Owners;
  /** The used definitions of all files. */
  upstreams: UpstreamDefinition[];
  /** The file of each definition, by the upstream's name. */
  upstreamOwners: Owners;
  /** Present problems of the files. */
  problems: Problem[];
  /** Likely mistakes in rows that are used nevertheless. */
  warnings: Warning[];
}

export const emptyFolder: Folder = {
  files: [],
  rows: [],
  owners: new Map(),
  upstreams: [],
  upstreamOwners: new Map(),
  problems: [],
  warnings: [],
};

/**
 * Reads a folder and decides what is used. A file with a problem keeps its earlier contents.
 * Rejects if the folder cannot be read.
 */
export async function readFolder(
  { dir, knownUpstreams, definitionFault, unsupportedRowOf }: FolderOptions,
  before: Folder = emptyFolder,
): Promise<Folder> {
  const read = await readFiles(dir, before.files);
  const judged = read.map((each) => ({
    ...each,
    problems: [...each.parsed.problems, ...definitionProblems(each, definitionFault)],
    old: before.files.find(({ file }) => file === each.file) ?? null,
  }));
  const known = knownUpstreams && [...new Set([...knownUpstreams, ...judged.flatMap(definedIn)])];
  const judges = judgesOf(judged, before.upstreamOwners, unsupportedRowOf);
  const files = judged.map((each) => loadedOf(each, judges, known));
  const ids = settleIds(files, before.owners);
  const definitions = settleUpstreams(files, before.upstreamOwners);
  const problems = files.flatMap((file) => file.problems);
  problems.push(...ids.problems, ...definitions.problems);
  if (read.length === 0) {
    problems.push({
      file: '',
      path: '',
      message: `there is no .yaml file in ${dir}; the catalog is empty.`,
    });
  }
  return { ...ids, ...definitions, files, problems, warnings: lossWarnings({ ...ids, files }) };
}

interface JudgedFile extends ReadFile {
  /** Problems that show without the other files. */
  problems: Problem[];
  old: LoadedFile | null;
}

function definitionProblems(
  { file, parsed }: ReadFile,
  faultOf: FolderOptions['definitionFault'],
): Problem[] {
  const fault = parsed.upstream && faultOf?.(parsed.upstream);
  if (!fault) return [];
  const message = `the upstream ${parsed.upstream!.name}: ${fault}.`;
  return [parsed.locate({ file, path: '/upstream', message })];
}

/** Includes the upstream that a bad file defined while it was good, because it stays in use. */
function definedIn({ parsed, problems, old }: JudgedFile): string[] {
  const kept = problems.length > 0 ? old?.upstream?.name : null;
  return [parsed.defines, kept].filter((name) => typeof name === 'string');
}

/** By upstream, from the definitions that would be used; for a bad file from its earlier one. */
function judgesOf(
  judged: JudgedFile[],
  owners: Owners,
  unsupportedRowOf: FolderOptions['unsupportedRowOf'] = () => () => null,
): Map<string, FindUnsupported> {
  const defined = judged.map(({ file, parsed, problems, old }) => {
    const upstream = problems.length === 0 ? parsed.upstream : (old?.upstream ?? null);
    return { file, upstream };
  });
  const { upstreams } = settleUpstreams(defined, owners);
  return new Map(upstreams.map((each) => [each.name, unsupportedRowOf(each)]));
}

/** With any problem in it, a file keeps its earlier contents. */
function loadedOf(
  { old, ...read }: JudgedFile,
  judges: ReadonlyMap<string, FindUnsupported>,
  known?: readonly string[],
): LoadedFile {
  const { file, parsed } = read;
  const problems = [...read.problems];
  // A bad row is missing from the rows, so their positions are right only without problems.
  if (known && problems.length === 0)
    problems.push(...unknownUpstreams(file, parsed.rows, known).map(parsed.locate));
  if (problems.length === 0)
    problems.push(...unsupportedRows(file, parsed.rows, judges).map(parsed.locate));
  const { upstream, rows } = problems.length === 0 ? parsed : (old ?? { upstream: null, rows: [] });
  return { ...read, upstream, rows, problems };
}

/** A problem of a row that the files alone do not show; `path` is a JSON pointer within it. */
export function rowProblem(
  { files, owners }: Pick<Folder, 'files' | 'owners'>,
  id: string,
  path: string,
  message: string,
): Problem {
  const file = files.find((each) => each.file === owners.get(id))!;
  const at = file.rows.findIndex((row) => row.id === id);
  const problem = { file: file.file, path: `/models/${at}${path}`, message };
  // In a file that has become bad, a kept row may have moved or be gone.
  return file.problems.length === 0 ? file.parsed.locate(problem) : problem;
}

/** Rows that may lose money with some or all requests; that may be intended. */
function lossWarnings(folder: Pick<Folder, 'files' | 'rows' | 'owners'>): Warning[] {
  return folder.rows.flatMap((row) => {
    const { id, cost_may_exceed } = row;
    const about = (path: string, message: string) => ({
      id,
      ...rowProblem(folder, id, path, `${id}: ${message}`),
    });
    const stated = statedLosses(row).map((loss) => about('/price', `${loss}.`));
    if (cost_may_exceed === null) return stated;
    const message = `a request can cost more than it is charged: ${cost_may_exceed}`;
    return [...stated, about('/cost_may_exceed', message)];
  });
}
