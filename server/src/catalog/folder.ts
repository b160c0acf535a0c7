import {
  unsupportedRows,
  withoutDuplicateIds,
  withoutDuplicateUpstreams,
  unknownUpstreams,
  type FindUnsupported,
  type Owners,
} from '../core/catalog/catalog-conflicts.ts';
import type { ParsedFile, FileProblem } from '../core/catalog/catalog-file.ts';
import type { Model } from '../core/catalog/catalog.ts';
import { statedLosses } from '../core/catalog/listed-price.ts';
import type { UpstreamDefinition } from '../core/catalog/upstream-definition.ts';
import { readFiles, type ReadFile } from './files.ts';
import { sampleProblems } from './samples.ts';

export interface FolderOptions {
  /** Folder of the `.yaml` and `.yml` files; other files and subfolders are ignored. */
  dir: string;
  /**
   * Upstreams that need no definition in a file. A row that names any other undefined upstream has
   * a problem. If omitted, any name is allowed.
   */
  knownUpstreams?: readonly string[];
  /** Why a definition is invalid; null if it is valid. */
  definitionFault?: (upstream: UpstreamDefinition) => string | null;
  /** Checks the rows that name the defined upstream. */
  unsupportedRowOf?: (upstream: UpstreamDefinition) => FindUnsupported;
}

/** A warning about the row with this id. */
export type Warning = FileProblem & { id: string };

/** The contents of a file that are used: the earlier ones if the file has become invalid. */
export interface LoadedFile extends ReadFile, ParsedFile {}

export interface Folder {
  files: LoadedFile[];
  /** The used rows of all files. */
  rows: Model[];
  /** The file of each used row, by the row's id. */
  owners: Owners;
  /** The used definitions of all files. */
  upstreams: UpstreamDefinition[];
  /** The file of each definition, by the upstream's name. */
  upstreamOwners: Owners;
  /** Present problems of the files. */
  problems: FileProblem[];
  /** Probable mistakes in rows; the rows are used even so. */
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
  const read = await readFiles(dir);
  const judged = await Promise.all(
    read.map(async (each) => ({
      ...each,
      problems: [
        ...each.parsed.problems,
        ...definitionProblems(each, definitionFault),
        ...(await sampleProblems(dir, each.file, each.parsed)).map(each.parsed.locate),
      ],
      old: before.files.find(({ file }) => file === each.file) ?? null,
    })),
  );
  const known = knownUpstreams && [...new Set([...knownUpstreams, ...judged.flatMap(definedIn)])];
  const judges = judgesOf(judged, before.upstreamOwners, unsupportedRowOf);
  const files = judged.map((each) => loadedOf(each, judges, known));
  const ids = withoutDuplicateIds(files, before.owners);
  const definitions = withoutDuplicateUpstreams(files, before.upstreamOwners);
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
  /** Problems that can be found without the other files. */
  problems: FileProblem[];
  old: LoadedFile | null;
}

function definitionProblems(
  { file, parsed }: ReadFile,
  faultOf: FolderOptions['definitionFault'],
): FileProblem[] {
  const fault = parsed.upstream && faultOf?.(parsed.upstream);
  if (!fault) return [];
  const message = `the upstream ${parsed.upstream!.name}: ${fault}.`;
  return [parsed.locate({ file, path: '/upstream', message })];
}

/**
 * Includes the upstream that an invalid file defined earlier, because that definition stays in use.
 */
function definedIn({ parsed, problems, old }: JudgedFile): string[] {
  const kept = problems.length > 0 ? old?.upstream?.name : null;
  return [parsed.defines, kept].filter((name) => typeof name === 'string');
}

/**
 * The row checks by upstream, made from the definitions in use: for an invalid file, its earlier
 * one.
 */
function judgesOf(
  judged: JudgedFile[],
  owners: Owners,
  unsupportedRowOf: FolderOptions['unsupportedRowOf'] = () => () => null,
): Map<string, FindUnsupported> {
  const defined = judged.map(({ file, parsed, problems, old }) => {
    const upstream = problems.length === 0 ? parsed.upstream : (old?.upstream ?? null);
    return { file, upstream };
  });
  const { upstreams } = withoutDuplicateUpstreams(defined, owners);
  return new Map(upstreams.map((each) => [each.name, unsupportedRowOf(each)]));
}

/** The contents of a file to use: the earlier ones if the file has any problem. */
function loadedOf(
  { old, ...read }: JudgedFile,
  judges: ReadonlyMap<string, FindUnsupported>,
  known?: readonly string[],
): LoadedFile {
  const { file, parsed } = read;
  const problems = [...read.problems];
  // Invalid rows are missing from `rows`, so the positions are right only if there are no problems.
  if (known && problems.length === 0)
    problems.push(...unknownUpstreams(file, parsed.rows, known).map(parsed.locate));
  if (problems.length === 0)
    problems.push(...unsupportedRows(file, parsed.rows, judges).map(parsed.locate));
  const { upstream, rows } = problems.length === 0 ? parsed : (old ?? { upstream: null, rows: [] });
  return { ...read, upstream, rows, problems };
}

/**
 * Describes a row's problem that was found outside the files, for example at its upstream.
 * `path` is a JSON pointer within the row.
 */
export function rowProblem(
  { files, owners }: Pick<Folder, 'files' | 'owners'>,
  id: string,
  path: string,
  message: string,
): FileProblem {
  const file = files.find((each) => each.file === owners.get(id))!;
  const at = file.rows.findIndex((row) => row.id === id);
  const problem = { file: file.file, path: `/models/${at}${path}`, message };
  // In a file that has become invalid, a kept row may have moved or be gone, so it gets no line.
  return file.problems.length === 0 ? file.parsed.locate(problem) : problem;
}

/** Rows that may lose money with some or all requests. This may be intended, so it is a warning. */
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
