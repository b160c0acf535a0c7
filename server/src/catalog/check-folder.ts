import { assembleCatalog, type Catalog } from '../core/catalog/catalog.ts';
import type { FileProblem } from '../core/catalog/catalog-file.ts';
import type { UpstreamDefinition } from '../core/catalog/upstream-definition.ts';
import type { LiveOptions } from './catalog.ts';
import { contentsOf, type CatalogContents } from './contents.ts';
import { readFolder, rowProblem, type Folder, type FolderOptions } from './folder.ts';

/** The contents of a folder that was checked without a running service. */
export interface CheckedFolder extends Pick<Folder, 'rows' | 'owners' | 'problems' | 'warnings'> {
  files: string[];
  contents: CatalogContents;
  /** Rows that would be hidden, and why. */
  hidden: Catalog['hidden'];
  /** The upstreams that its files define, each with a function that locates its problems. */
  upstreams: {
    file: string;
    definition: UpstreamDefinition;
    problemOf: (message: string) => FileProblem;
  }[];
  /**
   * Describes a row's problem that was found outside the files, for example at its upstream.
   * `path` is a JSON pointer within the row.
   */
  problemOf: (id: string, path: string, message: string) => FileProblem;
}

/** Reads and checks a folder once. Rejects if the folder cannot be read. */
export async function checkFolder(options: FolderOptions & LiveOptions): Promise<CheckedFolder> {
  const folder = await readFolder(options);
  const { rows, owners, problems, warnings } = folder;
  options.define?.(folder.upstreams);
  const { hidden } = assembleCatalog(rows, options.usableUpstreams);
  const upstreams = folder.upstreams.map((definition) => {
    const { file, parsed } = folder.files.find(({ upstream }) => upstream === definition)!;
    const problemOf = (message: string) => parsed.locate({ file, path: '/upstream', message });
    return { file, definition, problemOf };
  });
  return {
    rows,
    owners,
    problems,
    warnings,
    hidden,
    upstreams,
    contents: contentsOf(folder),
    files: folder.files.map(({ file }) => file),
    problemOf: (...about) => rowProblem(folder, ...about),
  };
}
