import { createHash } from 'node:crypto';
import type { Problem } from '../core/catalog/catalog-file.ts';
import { assembleCatalog, type Catalog } from '../core/catalog/catalog.ts';
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
  let catalog = liveCatalog(folder, options);
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
    const next = liveCatalog(folder, options);
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
    async close() {
      stop();
      await last;
    },
  };
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

/** The catalog's facts for the log. */
function shown({ version, models, hidden }: Catalog): object {
  return { version, models: models.size, hidden: hidden.length };
}
