/** The files that the layout rules check. */
import fs from 'node:fs';
import path from 'node:path';
import { readSource, type Source } from './source.ts';

/** Path in the repository, with forward slashes → text. */
export type Project = ReadonlyMap<string, string>;

const skippedFolders = new Set(['node_modules', '.git', 'data', 'dist', '.tmp']);
const textFile =
  /(\.(ts|tsx|mjs|js|json|md|sql|yaml|yml|html|css|svg|txt)|(^|\/)[^.]+|\/\.[\w.]+)$/;
const bytesMax = 1_000_000;

export function readProject(root: string): Project {
  const files = new Map<string, string>();
  const visit = (folder: string) => {
    for (const entry of fs.readdirSync(path.join(root, folder), { withFileTypes: true })) {
      const file = path.posix.join(folder, entry.name);
      if (entry.isDirectory() && !skippedFolders.has(entry.name)) visit(file);
      if (!entry.isFile()) continue;
      const full = path.join(root, file);
      const isText = textFile.test(`/${file}`) && fs.statSync(full).size <= bytesMax;
      files.set(file, isText ? fs.readFileSync(full, 'utf8') : '');
    }
  };
  visit('');
  return files;
}

/** TypeScript and JavaScript files whose path matches. */
export function sources(project: Project, where: RegExp): Source[] {
  return [...project]
    .filter(([file]) => where.test(file) && /\.(ts|tsx|mjs|js)$/.test(file))
    .map(([file, text]) => readSource(file, text));
}

export function isTest(file: string): boolean {
  return /\.test\.tsx?$|^(server|client|web)\/test\//.test(file);
}
