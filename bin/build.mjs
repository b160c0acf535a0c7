// Builds the web pages into web/dist, and does nothing when they are as new as their sources.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const web = path.join(root, 'web');
const dist = path.join(web, 'dist');
const record = path.join(dist, '.sources');
const own = path.join(root, 'node_modules', '.bin');

const wanted = sourcesHash();
if (!fs.existsSync(record) || fs.readFileSync(record, 'utf8') !== wanted) build();

function build() {
  const startedAt = Date.now();
  // Node 24 first: the system's may be too old for the tools.
  const env = { ...process.env, PATH: `${own}${path.delimiter}${process.env.PATH ?? ''}` };
  const vite = path.join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  // Built aside and moved: a service that runs meanwhile serves whole files.
  const aside = `dist.${process.pid}`;
  const args = [vite, 'build', '--logLevel', 'error', '--outDir', aside, '--emptyOutDir'];
  const built = spawnSync('node', args, { cwd: web, env, stdio: ['ignore', 'ignore', 'inherit'] });
  if (built.status !== 0) {
    fs.rmSync(path.join(web, aside), { recursive: true, force: true });
    console.error('The web pages could not be built.');
    process.exit(1);
  }
  for (const file of filesOf(path.join(web, aside))) compress(file);
  fs.writeFileSync(path.join(web, aside, '.sources'), wanted);
  fs.rmSync(dist, { recursive: true, force: true });
  fs.renameSync(path.join(web, aside), dist);
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.error(`Built the web pages in ${seconds} s.`);
}

/** Beside each text file its compressed forms, so that nobody compresses while somebody waits. */
function compress(file) {
  if (!/\.(js|css|svg|json)$/.test(file)) return;
  const bytes = fs.readFileSync(file);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } };
  fs.writeFileSync(`${file}.br`, brotliCompressSync(bytes, quality));
  fs.writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
}

/** Of everything that the build is made of: the sources and the versions of all packages. */
function sourcesHash() {
  const hash = createHash('sha256');
  const named = ['index.html', 'package.json', 'tsconfig.json', 'vite.config.ts'];
  const files = [
    path.join(root, 'package-lock.json'),
    ...named.map((name) => path.join(web, name)),
    ...filesOf(path.join(web, 'src')),
    ...filesOf(path.join(web, 'public')),
  ];
  for (const file of files.sort()) {
    hash.update(path.relative(root, file)).update('\0').update(fs.readFileSync(file)).update('\0');
  }
  return `${hash.digest('hex')}\n`;
}

function filesOf(folder) {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}
