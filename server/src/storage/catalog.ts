/**
 * Reads the folder of catalog files, watches it, and holds the live catalog. A file that turns bad
 * keeps its last good rows and says so; the others go on. A catalog is replaced whole, so a reader
 * never sees half of a change.
 */

import { createHash } from 'node:crypto';
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  misfitRows,
  settleIds,
  settleUpstreams,
  unknownUpstreams,
} from '../core/catalog/catalog-file.ts';
import type { MisfitOf, Owners, ParsedFile, Problem } from '../core/catalog/catalog-file.ts';
import { assembleCatalog } from '../core/catalog/catalog.ts';
import type { Catalog, Model } from '../core/catalog/catalog.ts';
import { statedLosses } from '../core/catalog/listed-price.ts';
import type { UpstreamDefinition } from '../core/catalog/upstream-definition.ts';
import { parseCatalogText } from './catalog-text.ts';
import type { ParsedText, RowOutline } from './catalog-text.ts';

export interface CatalogOptions {
  /** Folder of the `.yaml` and `.yml` files; others in it and folders below are not looked at. */
  dir: string;
  /** True, or why the upstream cannot be used, in words for the operator. Asked at every reload. */
  usableUpstreams: (name: string) => true | string;
  /**
   * Upstreams that no file has to define: a row that names neither one of them nor a defined one is
   * wrong. Left out: any may be named.
   */
  knownUpstreams?: readonly string[];
  /** Why a definition cannot be used as it is written; null where nothing is wrong with it. */
  definitionFault?: (upstream: UpstreamDefinition) => string | null;
  /** Judges the rows that name the upstream of a definition. */
  misfitsOf?: (upstream: UpstreamDefinition) => MisfitOf;
  /** Told what the files define, before `usableUpstreams` is asked. */
  define?: (upstreams: UpstreamDefinition[]) => void;
  log: CatalogLog;
  /**
   * Quiet time after a change before the folder is read, so that no half-saved file is. Default
   * 100.
   */
  debounceMs?: number;
  /**
   * How often the files' times and sizes are compared, where the system reports no changes. Default
   * 5000.
   */
  pollMs?: number;
  /** False: only compare times and sizes, for file systems whose notices are not to be trusted. */
  watch?: boolean;
}

type FolderOptions = Pick<
  CatalogOptions,
  'dir' | 'usableUpstreams' | 'knownUpstreams' | 'definitionFault' | 'misfitsOf' | 'define'
>;

/** The part of a pino logger that is used. */
export interface CatalogLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface CatalogStore {
  current(): Catalog;
  /** What is wrong with the files as they are now; empty when all is well. */
  problems(): readonly Problem[];
  /** What is likely a slip of the pen in rows that count nevertheless. */
  warnings(): readonly Warning[];
  /** All that the files say, also what callers do not see. */
  contents(): CatalogContents;
  /**
   * Reads the folder again; resolves when the result is live. Never rejects: faults end in
   * `problems`.
   */
  reload(): Promise<{ changed: boolean; problems: readonly Problem[] }>;
  /** Called after the live rows changed. Returns what takes the listener away again. */
  onChange(listener: (catalog: Catalog) => void): () => void;
  close(): Promise<void>;
}

/** Of the row with this id. */
export type Warning = Problem & { id: string };

/** What the files say, for the operator. */
export interface CatalogContents {
  /** Of each file the comment at its head, and whether it has a problem just now. */
  files: { file: string; note: string; rows: number; has_problem: boolean }[];
  rows: FiledRow[];
  /** Rows that stand in a file and do not count, and the problem that keeps them out. */
  left_out: { id: string; file: string; line: number; problem: Problem }[];
  upstreams: { file: string; definition: UpstreamDefinition }[];
}

/** A row that counts, live or hidden. */
export interface FiledRow {
  model: Model;
  file: string;
  /** Null: it stands there no more, or the file cannot be read. */
  line: number | null;
  note: string;
  /** What is wrong with its file just now: the row is as it was before. */
  problem: Problem | null;
}

/** What a folder holds, for a check without a service. */
export interface CheckedFolder {
  files: string[];
  rows: Model[];
  problems: Problem[];
  warnings: Warning[];
  /** Rows that would not be live, and why. */
  hidden: Catalog['hidden'];
  /** The upstreams that its files define, each with a way to say what is wrong with it. */
  upstreams: {
    file: string;
    definition: UpstreamDefinition;
    problemOf: (message: string) => Problem;
  }[];
  /** The file in which each id counts. */
  owners: Owners;
  /** A problem of a row that the files alone do not show; `path` is a JSON pointer within it. */
  problemOf: (id: string, path: string, message: string) => Problem;
}

interface ReadFile {
  file: string;
  /** Null where the file could not be read. */
  text: string | null;
  /** What stands in it. */
  parsed: ParsedText;
}

/** What counts of a file: where it has turned bad, what it had before. */
interface LoadedFile extends ReadFile, ParsedFile {}

interface Folder {
  files: LoadedFile[];
  /** Of all files, those that count. */
  rows: Model[];
  owners: Owners;
  /** Of all definitions, those that count. */
  upstreams: UpstreamDefinition[];
  upstreamOwners: Owners;
  problems: Problem[];
  warnings: Warning[];
}

const emptyFolder: Folder = {
  files: [],
  rows: [],
  owners: new Map(),
  upstreams: [],
  upstreamOwners: new Map(),
  problems: [],
  warnings: [],
};

/** A catalog of a thousand rows is about 2 MB; a larger file is no catalog. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;
const DEBOUNCE_MS = 100;
const POLL_MS = 5000;
/** Rows that are named in one line of the log. */
const ROWS_LOGGED = 20;
const IDS_LOGGED = 3;

/**
 * Loads the folder and watches it until `close`. Rejects only where the folder cannot be read at
 * all; bad files are left out and told in `problems`.
 */
export async function openCatalog(options: CatalogOptions): Promise<CatalogStore> {
  const { dir, log } = options;
  const listeners = new Set<(catalog: Catalog) => void>();
  // Taken before the files are read: what changes in between is seen as a difference at the next
  // look.
  let signature = await signatureOf(dir);
  let folder = await readFolder(options);
  let catalog = liveCatalog(folder, options);
  report(folder, emptyFolder, log);
  // What was never set up is no fault: the catalog that comes with Farebox has many services.
  reportHidden(catalog.hidden, [], (...said) => log.info(...said));
  log.info({ models: catalog.models.size, hidden: catalog.hidden.length }, 'catalog loaded');

  const load = async () => {
    signature = await signatureOf(dir);
    const before = folder;
    folder = await readFolder(options, before).catch((error: Error) => ({
      ...before,
      problems: [unreadable('', error)],
    }));
    report(folder, before, log);
    const next = liveCatalog(folder, options);
    reportHidden(next.hidden, catalog.hidden, (...said) => log.warn(...said));
    const changed = next.version !== catalog.version;
    catalog = next;
    if (changed) tell(listeners, next, log);
    return { changed, problems: folder.problems };
  };
  // One reading after the other, so that an older one never overwrites a newer one.
  let last: Promise<unknown> = Promise.resolve();
  const reload = () => {
    const result = last.then(load);
    last = result.catch(() => {});
    return result;
  };
  const stop = watchFolder(options, reload, async () => (await signatureOf(dir)) !== signature);
  return {
    current: () => catalog,
    problems: () => folder.problems,
    warnings: () => folder.warnings,
    contents: () => contentsOf(folder),
    reload,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      stop();
      listeners.clear();
      await last;
    },
  };
}

/** Reads and checks a folder once. Rejects where the folder cannot be read. */
export async function checkFolder(options: FolderOptions): Promise<CheckedFolder> {
  const folder = await readFolder(options);
  const { files, rows, problems, warnings, owners, upstreams: definitions } = folder;
  options.define?.(definitions);
  const { hidden } = assembleCatalog(rows, options.usableUpstreams);
  const upstreams = definitions.map((definition) => {
    const { file, parsed } = files.find(({ upstream }) => upstream === definition)!;
    const about = (message: string) => parsed.locate({ file, path: '/upstream', message });
    return { file, definition, problemOf: about };
  });
  const problemOf = (id: string, path: string, message: string) =>
    rowProblem(folder, id, path, message);
  const names = files.map(({ file }) => file);
  return { files: names, rows, problems, warnings, hidden, upstreams, owners, problemOf };
}

function rowProblem(
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

async function readFolder(
  { dir, knownUpstreams, definitionFault, misfitsOf }: FolderOptions,
  before: Folder = emptyFolder,
): Promise<Folder> {
  const names = await catalogFiles(dir);
  const old = new Map(before.files.map((loaded) => [loaded.file, loaded]));
  const read = await Promise.all(
    names.map((file) => readCatalogFile(join(dir, file), file, old.get(file))),
  );
  const judged = read.map((each) => ({
    ...each,
    problems: [...each.parsed.problems, ...definitionProblems(each, definitionFault)],
    old: old.get(each.file) ?? null,
  }));
  const known = knownUpstreams && [...new Set([...knownUpstreams, ...judged.flatMap(definedIn)])];
  const judges = judgesOf(judged, before.upstreamOwners, misfitsOf);
  const files = judged.map((each) => loadedOf(each, judges, known));
  const ids = settleIds(files, before.owners);
  const definitions = settleUpstreams(files, before.upstreamOwners);
  const problems = files.flatMap((file) => file.problems);
  problems.push(...ids.problems, ...definitions.problems);
  if (names.length === 0) {
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
  const { upstream, rows } = problems.length === 0 ? parsed : (old ?? nothing);
  return { ...read, upstream, rows, problems };
}

const nothing = { upstream: null, rows: [] };

async function readCatalogFile(path: string, file: string, old?: LoadedFile): Promise<ReadFile> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > FILE_BYTES_MAX) throw new Error(`larger than ${FILE_BYTES_MAX} bytes`);
    text = await readFile(path, 'utf8');
  } catch (error) {
    const problems = [unreadable(file, error as Error)];
    const locate = (problem: Problem) => problem;
    const parsed = { ...nothing, defines: null, problems, locate, note: '', outline: [] };
    return { file, text: null, parsed };
  }
  // The same rows, not equal ones: whatever is kept per row (a compiled schema) stays of use.
  if (old && old.text === text) return old;
  return { file, text, parsed: parseCatalogText(text, file) };
}

async function catalogFiles(dir: string): Promise<string[]> {
  const names = await readdir(dir);
  return names.filter((name) => /^[^.].*\.ya?ml$/.test(name)).sort();
}

function contentsOf({ files, rows, owners, upstreams, upstreamOwners }: Folder): CatalogContents {
  const outlines = new Map<string, RowOutline>();
  for (const { file, parsed } of files) {
    for (const row of parsed.outline) outlines.set(`${file} ${row.id}`, row);
  }
  const problems = new Map(files.map(({ file, problems: own }) => [file, own]));
  const filed = rows.map((model): FiledRow => {
    const file = owners.get(model.id)!;
    const { line = null, note = '' } = outlines.get(`${file} ${model.id}`) ?? {};
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

/** Only a file with a problem has such rows: its new ones, and while it was never good, all. */
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

/** Changes whenever a file of the folder does, or the folder comes or goes. */
async function signatureOf(dir: string): Promise<string> {
  const names = await catalogFiles(dir).catch(() => ['?']);
  const marks = names.map(async (name) => {
    const found = await stat(join(dir, name)).catch(() => null);
    return `${name} ${found?.ino} ${found?.size} ${found?.mtimeMs}`;
  });
  return (await Promise.all(marks)).join('\n');
}

function liveCatalog(folder: Folder, { usableUpstreams, define }: CatalogOptions): Catalog {
  define?.(folder.upstreams);
  const { models, hidden } = assembleCatalog(folder.rows, usableUpstreams);
  const text = JSON.stringify([...models.values()], (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
  const version = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return { models, hidden, version };
}

/**
 * Both ways at once: the system's own notice is quick, but does not exist on every file system and
 * may fail silently; comparing times and sizes is slow and always works.
 */
function watchFolder(
  { dir, log, debounceMs = DEBOUNCE_MS, pollMs = POLL_MS, watch: notices = true }: CatalogOptions,
  reload: () => Promise<unknown>,
  differs: () => Promise<boolean>,
): () => void {
  let quiet: NodeJS.Timeout | undefined;
  let closed = false;
  const touched = () => {
    if (closed) return;
    clearTimeout(quiet);
    quiet = setTimeout(() => void reload(), debounceMs).unref();
  };
  const poll = setInterval(async () => {
    if (await differs()) touched();
  }, pollMs).unref();
  const pollOnly = (error: unknown) => {
    log.warn({ err: error, dir }, 'no notices of changes to the catalog folder; it is only polled');
  };
  let watcher: FSWatcher | undefined;
  try {
    if (notices) watcher = watch(dir, { persistent: false }, touched).on('error', pollOnly);
  } catch (error) {
    pollOnly(error);
  }
  return () => {
    closed = true;
    clearTimeout(quiet);
    clearInterval(poll);
    watcher?.close();
  };
}

/** Says what is newly wrong, and what no longer is; a standing problem is not repeated. */
function report({ files, problems, warnings }: Folder, before: Folder, log: CatalogLog): void {
  for (const problem of newAmong(problems, before.problems))
    log.warn({ problem }, consequence(problem, files));
  const losses = newAmong(warnings, before.warnings);
  if (losses.length > 0) {
    const shown = { warnings: losses.slice(0, ROWS_LOGGED), count: losses.length };
    log.warn(shown, 'catalog rows can cost more than they are sold for');
  }
  const bad = new Set(problems.map(({ file }) => file));
  // Nothing is known of the files while the folder itself cannot be read.
  if (bad.has('')) return;
  const had = before.problems.map(({ file }) => file || '.');
  const mended = new Set(had.filter((file) => !bad.has(file)));
  if (mended.size > 0) log.info({ files: [...mended] }, 'catalog problems are gone');
}

function newAmong<T extends Problem>(now: T[], before: T[]): T[] {
  const known = new Set(before.map(({ file, message }) => `${file} ${message}`));
  return now.filter(({ file, message }) => !known.has(`${file} ${message}`));
}

function consequence(problem: Problem, files: LoadedFile[]): string {
  if (problem.file === '') return 'catalog folder has a problem';
  const { upstream, rows, problems } = files.find(({ file }) => file === problem.file)!;
  if (!problems.includes(problem))
    return 'catalog file has a problem; what another file has already does not count';
  const isDefined = upstream !== null;
  const what = isDefined ? 'definition and rows stay' : 'rows stay';
  const stays = rows.length > 0 ? what : isDefined ? 'definition stays' : null;
  return `catalog file has a problem; ${stays === null ? 'it has no rows' : `its last good ${stays}`}`;
}

/** Says how many rows callers cannot see, and why, whenever that changes. */
function reportHidden(
  now: Catalog['hidden'],
  before: Catalog['hidden'],
  say: CatalogLog['info'],
): void {
  const known = new Set(before.map(({ id, reason }) => `${id} ${reason}`));
  const rows = now.filter(({ id, reason }) => !known.has(`${id} ${reason}`));
  if (rows.length === 0) return;
  // Many rows share a reason: a line for each would bury the others in the log.
  const hidden = [...Map.groupBy(rows, ({ reason }) => reason)].map(([reason, of]) => {
    return { reason, count: of.length, ids: of.slice(0, IDS_LOGGED).map(({ id }) => id) };
  });
  const shown = { hidden: hidden.slice(0, ROWS_LOGGED), count: rows.length };
  say(shown, 'catalog rows are hidden: no upstream of theirs is set up');
}

function tell(listeners: Set<(catalog: Catalog) => void>, catalog: Catalog, log: CatalogLog): void {
  const { version, models, hidden } = catalog;
  log.info({ version, models: models.size, hidden: hidden.length }, 'catalog changed');
  for (const listener of listeners) {
    try {
      listener(catalog);
    } catch (error) {
      log.warn({ err: error }, 'a listener of the catalog failed');
    }
  }
}

function unreadable(file: string, error: Error): Problem {
  return { file, path: '', message: `cannot be read: ${error.message}.` };
}
