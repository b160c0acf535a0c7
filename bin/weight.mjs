// Weighs the scripts that each page loads at once, compressed as they are sent. Run by itself it
// prints a table; the build stops if a page is too heavy.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const src = path.join(root, 'web', 'src');

/** In bytes: what somebody waits for who only wants to sign in, and everybody else. */
const limits = { entry: 92_000, page: 200_000 };
/** Files that list pages by `import('./Page.tsx')`, and what is loaded with all of them. */
const lists = ['app.tsx', 'dashboard/pages.ts', 'studio/pages.ts', 'operator/pages.ts'];
export const frame = 'src/components/frame/SignedIn.tsx';

/** The pages of a build with their scripts, and the limit that each has to keep. */
export function weigh(dist) {
  const manifest = manifestOf(dist);
  const sizeOf = (file) => fs.statSync(path.join(dist, `${file}.br`)).size;
  return pages().map((page) => {
    const isEntry = page.startsWith('src/entry/');
    const first = ['index.html', page, ...(isEntry ? [] : [frame])];
    const files = [...filesOf(manifest, first)];
    const bytes = files.reduce((sum, file) => sum + sizeOf(file), 0);
    return { page, files: files.length, bytes, limit: isEntry ? limits.entry : limits.page };
  });
}

/** The pages that are heavier than they may be, in words; empty if there are none. */
export function tooHeavy(dist) {
  return weigh(dist)
    .filter(({ bytes, limit }) => bytes > limit)
    .map(({ page, bytes, limit }) => `${page} loads ${kb(bytes)} of scripts, above ${kb(limit)}`);
}

/**
 * The scripts that import each other, in words; empty if there are none. The first of them to run
 * would miss what the other has not set yet, and its page would stay blank.
 */
export function circles(dist) {
  const manifest = manifestOf(dist);
  const imports = (name) => manifest[name].imports ?? [];
  const under = (names, found = new Set()) => {
    for (const name of names) if (!found.has(name)) under(imports(name), found.add(name));
    return found;
  };
  return Object.keys(manifest)
    .filter((name) => under(imports(name)).has(name))
    .map((name) => `${manifest[name].file} imports itself by others`);
}

function manifestOf(dist) {
  return JSON.parse(fs.readFileSync(path.join(dist, '.vite', 'manifest.json'), 'utf8'));
}

/** The files of all pages, and of their frame apart. */
export function pages() {
  const all = lists.flatMap((list) => {
    const text = fs.readFileSync(path.join(src, list), 'utf8');
    return [...text.matchAll(/import\('(\.\/\S+\.tsx)'\)/g)].map(([, file]) =>
      path.posix.join('src', path.posix.dirname(list), file),
    );
  });
  return [...new Set(all)].filter((page) => page !== frame);
}

/** The scripts of these modules and of all that they import, without what they load later. */
function filesOf(manifest, names, found = new Set()) {
  for (const name of names) {
    const { file, imports = [] } = manifest[name] ?? {};
    if (file === undefined) throw new Error(`The build has no ${name}.`);
    if (found.has(file)) continue;
    found.add(file);
    filesOf(manifest, imports, found);
  }
  return found;
}

function kb(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log('page'.padEnd(48), 'files'.padStart(6), 'scripts'.padStart(10), 'limit'.padStart(10));
  const rows = weigh(path.join(root, 'web', 'dist')).toSorted((a, b) => b.bytes - a.bytes);
  for (const { page, files, bytes, limit } of rows)
    console.log(
      page.padEnd(48),
      `${files}`.padStart(6),
      kb(bytes).padStart(10),
      kb(limit).padStart(10),
    );
}
