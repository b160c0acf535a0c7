import {
  misfitRows,
  settleIds,
  settleUpstreams,
  unknownUpstreams,
} from '../core/catalog/catalog-file.ts';
import type { MisfitOf, Owners, ParsedFile, Problem } from '../core/catalog/catalog-file.ts';
import type { Model } from '../core/catalog/catalog.ts';
import { statedLosses } from '../core/catalog/listed-price.ts';
import type { UpstreamDefinition } from '../core/catalog/upstream-definition.ts';
import { readFiles, type ReadFile } from './catalog-files.ts';

export interface FolderOptions {
  /** Folder of the `.yaml` and `.yml` files; others in it and folders below are not looked at. */
  dir: string;
  /**
   * Upstreams that no file has to define: a row that names neither one of them nor a defined one is
   * wrong. Left out: any may be named.
   */
  knownUpstreams?: readonly string[];
  /** Why a definition cannot be used as it is written; null: it can. */
  definitionFault?: (upstream: UpstreamDefinition) => string | null;
  /** Judges the rows that name the upstream of a definition. */
  misfitsOf?: (upstream: UpstreamDefinition) => MisfitOf;
}

/** Of the row with this id. */
export type Warning = Problem & { id: string };

/** What counts of a file: if it has turned bad, what it had before. */
export interface LoadedFile extends ReadFile, ParsedFile {}

export interface Folder {
  files: LoadedFile[];
  /** The rows of all files that count. */
  rows: Model[];
  /** The file in which each id counts. */
  owners: Owners;
  /** The definitions of all files that count. */
  upstreams: UpstreamDefinition[];
  /** The file of each definition, by the upstream's name. */
  upstreamOwners: Owners;
  /** What is wrong with the files as they are now. */
  problems: Problem[];
  /** Likely mistakes in rows that count nevertheless. */
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
 * Reads a folder and decides what counts. A file with a problem goes on with what it had before.
 * Rejects if the folder cannot be read.
 */
export async function readFolder(
  { dir, knownUpstreams, definitionFault, misfitsOf }: FolderOptions,
  before: Folder = emptyFolder,
): Promise<Folder> {
  const read = await readFiles(dir, before.files);
  const judged = read.map((each) => ({
    ...each,
    problems: [...each.parsed.problems, ...definitionProblems(each, definitionFault)],
    old: before.files.find(({ file }) => file === each.file) ?? null,
  }));
  const known = knownUpstreams && [...new Set([...knownUpstreams, ...judged.flatMap(definedIn)])];
  const judges = judgesOf(judged, before.upstreamOwners, misfitsOf);
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
  /** Those that show without the other files. */
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

/** With the upstream that a bad file defined while it was good, since that stays as it was. */
function definedIn({ parsed, problems, old }: JudgedFile): string[] {
  const kept = problems.length > 0 ? old?.upstream?.name : null;
  return [parsed.defines, kept].filter((name) => typeof name === 'string');
}

/** By upstream, of the definitions that would count; of a bad file the one that it had before. */
function judgesOf(
  judged: JudgedFile[],
  owners: Owners,
  misfitsOf: FolderOptions['misfitsOf'] = () => () => null,
): Map<string, MisfitOf> {
  const defined = judged.map(({ file, parsed, problems, old }) => {
    const upstream = problems.length === 0 ? parsed.upstream : (old?.upstream ?? null);
    return { file, upstream };
  });
  const { upstreams } = settleUpstreams(defined, owners);
  return new Map(upstreams.map((each) => [each.name, misfitsOf(each)]));
}

/** With any problem in it, a file goes on with what it had before. */
function loadedOf(
  { old, ...read }: JudgedFile,
  judges: ReadonlyMap<string, MisfitOf>,
  known?: readonly string[],
): LoadedFile {
  const { file, parsed } = read;
  const problems = [...read.problems];
  // A row with a problem is not among the rows, so that their places count only without any.
  if (known && problems.length === 0)
    problems.push(...unknownUpstreams(file, parsed.rows, known).map(parsed.locate));
  if (problems.length === 0)
    problems.push(...misfitRows(file, parsed.rows, judges).map(parsed.locate));
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
  // What has stayed of a file that turned bad may stand elsewhere in it by now, or not at all.
  return file.problems.length === 0 ? file.parsed.locate(problem) : problem;
}

/** A row may lose money with each request, or with some, but that may be what is wanted. */
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
