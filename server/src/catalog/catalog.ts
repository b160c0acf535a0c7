import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { FileProblem } from '../core/catalog/catalog-file.ts';
import { assembleCatalog, type Catalog } from '../core/catalog/catalog.ts';
import { withOverride, unfit, type Overrides } from '../core/catalog/override.ts';
import type { UpstreamDefinition } from '../core/catalog/upstream-definition.ts';
import { contentsOf, type CatalogContents } from './contents.ts';
import { signatureOf, unreadable } from './files.ts';
import {
  emptyFolder,
  readFolder,
  type Folder,
  type FolderOptions,
  type Warning,
} from './folder.ts';
import { report, reportHidden, type CatalogLog } from './report.ts';
import { watchFolder, type WatchOptions } from './watch-folder.ts';

export interface LiveOptions {
  /**
   * True, or why the upstream cannot be used, in words for the operator. Called at every reload.
   */
  usableUpstreams: (name: string) => true | string;
  /** Called with the files' definitions, before `usableUpstreams` is called. */
  define?: (upstreams: UpstreamDefinition[]) => void;
}

export type CatalogOptions = FolderOptions &
  LiveOptions &
  Pick<WatchOptions, 'debounceMs' | 'pollMs' | 'watch'> & { log: CatalogLog };

export interface CatalogStore {
  current(): Catalog;
  /** Present problems of the files; empty if there are none. */
  problems(): readonly FileProblem[];
  /** Probable mistakes in rows; the rows are used even so. */
  warnings(): readonly Warning[];
  /** Everything in the files, including what callers do not see. */
  contents(): CatalogContents;
  /**
   * Reads the folder again; resolves when the result is live. Never rejects: errors appear in
   * `problems`.
   */
  reload(): Promise<void>;
  /**
   * Replaces what operators have changed about its rows. `always`: even if that is the same,
   * because other upstreams may be usable.
   */
  override(overrides: Overrides, always?: boolean): void;
  close(): Promise<void>;
}

/**
 * Loads the folder of catalog files and watches it until `close`. A catalog is replaced as a whole,
 * so readers never see half of a change. Rejects only if the folder cannot be read; problems of a
 * file are in `problems`.
 */
export async function openCatalog(options: CatalogOptions): Promise<CatalogStore> {
  const { dir, log } = options;
  // Taken before the files are read, so that the next poll notices changes made in between.
  let signature = await signatureOf(dir);
  let folder = await readFolder(options);
  let overrides: Overrides = new Map();
  let catalog = liveCatalog(folder, overrides, options);
  report(folder, emptyFolder, log);
  // Logged as info, because most services in Farebox's own catalog are usually not set up.
  reportHidden(catalog.hidden, [], (...said) => log.info(...said));
  log.info(shown(catalog), 'catalog loaded');

  const load = async () => {
    signature = await signatureOf(dir);
    const before = folder;
    folder = await readFolder(options, before).catch((error: Error) => ({
      ...before,
      problems: [unreadable('', error)],
    }));
    report(folder, before, log);
    renew();
  };
  let unused = new Map<string, string>();
  const renew = () => {
    const next = liveCatalog(folder, overrides, options);
    unused = reportUnused(folder, overrides, unused, log);
    reportHidden(next.hidden, catalog.hidden, (...said) => log.warn(...said));
    if (next.version !== catalog.version) log.info(shown(next), 'catalog changed');
    catalog = next;
  };
  // Reads run one after another, so that an older result never overwrites a newer one.
  let last: Promise<void> = Promise.resolve();
  const reload = () => {
    const result = last.then(load);
    last = result.catch(() => {});
    return result;
  };
  const stop = watchFolder({
    ...options,
    onChange: () => void reload(),
    differs: async () => (await signatureOf(dir)) !== signature,
    onSilence: (error) =>
      log.warn({ err: error, dir }, 'cannot watch the catalog folder: polling it instead'),
  });
  return {
    current: () => catalog,
    problems: () => folder.problems,
    warnings: () => folder.warnings,
    contents: () => contentsOf(folder),
    reload,
    override(newest, always = false) {
      if (!always && isDeepStrictEqual(newest, overrides)) return;
      overrides = newest;
      renew();
    },
    async close() {
      stop();
      await last;
    },
  };
}

function liveCatalog(
  folder: Folder,
  overrides: Overrides,
  { usableUpstreams, define }: CatalogOptions,
): Catalog {
  define?.(folder.upstreams);
  const rows = folder.rows.map((row) => withOverride(row, overrides.get(row.id)));
  const { models, hidden } = assembleCatalog(rows, usableUpstreams);
  const text = JSON.stringify([...models.values()], (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
  const version = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return { models, hidden, version };
}

/** Warns once of each operator's change that no longer fits its row; returns all of them. */
function reportUnused(
  folder: Folder,
  overrides: Overrides,
  known: ReadonlyMap<string, string>,
  log: CatalogOptions['log'],
): Map<string, string> {
  const found = new Map<string, string>();
  for (const row of folder.rows) {
    const parts = unfit(row, overrides.get(row.id) ?? {}).join(', ');
    if (parts === '') continue;
    found.set(row.id, parts);
    if (known.get(row.id) !== parts)
      log.warn(
        { model_id: row.id, parts },
        "what an operator has set no longer fits the model's catalog file: the file counts",
      );
  }
  return found;
}

/** The catalog's facts for the log. */
function shown({ version, models, hidden }: Catalog): object {
  return { version, models: models.size, hidden: hidden.length };
}
