// Builds the web pages into web/dist, and the client and its npm package into client/dist. Does
// nothing if they are up to date.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { circles, tooHeavy } from './weight.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const own = path.join(root, 'node_modules', '.bin');
const viteFile = path.join(root, 'node_modules', 'vite', 'bin', 'vite.js');

/** Files that npm packs besides the built ones. */
const packed = ['LICENSE', 'README.md', 'bin', 'man'];

/** Pages of docs/api/ that are not for callers. */
const notForCallers = /^(callbacks|operator.*)\.md$/;

/** Pages of docs/ for callers, which the package carries. */
const manual = [
  'api',
  ...fs
    .readdirSync(path.join(root, 'docs', 'api'))
    .filter((file) => !notForCallers.test(file))
    .map((file) => `api/${path.parse(file).name}`),
  'client',
  'clients',
  'errors',
  'fal-client',
  'fare',
  'mcp',
  'pricing',
  'sandbox',
  'states',
];

make(
  'web',
  'the web pages',
  [
    'index.html',
    'vite.config.ts',
    'src',
    'public',
    '../client/src',
    '../server/src/core/snippets.ts',
    '../bin/chunks.mjs',
  ],
  pages,
);
make(
  'client',
  'the client',
  [
    'vite.config.ts',
    'tsconfig.build.json',
    ...packed,
    'src',
    ...manual.map((name) => `../docs/${name}.md`),
  ],
  client,
);

/** Calls `work` to fill the workspace's folder `aside`, which then becomes the new `dist`. */
function make(workspace, name, sources, work) {
  const folder = path.join(root, workspace);
  const dist = path.join(folder, 'dist');
  const record = path.join(dist, '.sources');
  const wanted = sourcesHash(folder, ['package.json', 'tsconfig.json', ...sources]);
  if (fs.existsSync(record) && fs.readFileSync(record, 'utf8') === wanted) return;
  const startedAt = Date.now();
  // Built beside `dist` and then renamed, so that no reader sees half-written files.
  const aside = `dist.${process.pid}`;
  const whole = path.join(folder, aside);
  try {
    work(folder, aside);
  } catch (error) {
    fs.rmSync(whole, { recursive: true, force: true });
    console.error(`Not built: ${name}. ${error.message}`);
    process.exit(1);
  }
  fs.writeFileSync(path.join(whole, '.sources'), wanted);
  fs.rmSync(dist, { recursive: true, force: true });
  fs.renameSync(whole, dist);
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.error(`Built ${name} in ${seconds} s.`);
}

function pages(folder, aside) {
  vite(folder, ['--outDir', aside, '--emptyOutDir']);
  for (const file of filesOf(path.join(folder, aside))) compress(file);
  const circular = circles(path.join(folder, aside));
  if (circular.length > 0) throw new Error(`${circular.join('; ')}. See bin/chunks.mjs.`);
  const heavy = tooHeavy(path.join(folder, aside));
  if (heavy.length > 0) throw new Error(`${heavy.join('; ')}. npm run weight shows all pages.`);
}

function client(folder, aside) {
  library(folder, aside);
  docs(folder);
  pack(folder, aside);
}

/** Builds the library in both module forms, with types for each, and the command. */
function library(folder, aside) {
  for (const mode of ['es', 'cjs', 'cli']) vite(folder, ['--mode', mode, '--outDir', aside]);
  const types = path.join(folder, aside, 'types');
  run('tsc', ['-p', 'tsconfig.build.json', '--outDir', types], folder);
  for (const file of filesOf(types)) {
    const text = fs.readFileSync(file, 'utf8');
    // The compiler keeps the names of the source files in import paths.
    fs.writeFileSync(file, text.replaceAll(/'(\.[^']*)\.ts'/g, "'$1.js'"));
    const common = text.replaceAll(/'(\.[^']*)\.ts'/g, "'$1.cjs'");
    fs.writeFileSync(file.replace(/\.ts$/, '.cts'), common);
  }
}

/** Copies the pages for callers. A link to any other page becomes its text. */
function docs(folder) {
  const made = path.join(folder, 'docs');
  fs.rmSync(made, { recursive: true, force: true });
  fs.mkdirSync(path.join(made, 'api'), { recursive: true });
  for (const name of manual) {
    const text = fs.readFileSync(path.join(root, 'docs', `${name}.md`), 'utf8');
    const linked = text.replaceAll(/(?<!!)\[([^[\]]+)\]\(([^)\s]+)\)/g, (whole, label, target) => {
      const [file] = target.split('#');
      const page = path.posix.join(path.posix.dirname(name), file.replace(/\.md$/, ''));
      const stays = file === '' || target.includes('://') || manual.includes(page);
      return stays ? whole : label;
    });
    fs.writeFileSync(path.join(made, `${name}.md`), linked);
  }
}

/** Packs the client as `npm publish` would; the service offers the package for download. */
function pack(folder, aside) {
  const whole = path.join(folder, aside);
  const staged = fs.mkdtempSync(path.join(os.tmpdir(), 'farebox-pack-'));
  try {
    fs.cpSync(whole, path.join(staged, 'dist'), { recursive: true });
    for (const name of ['package.json', 'docs', ...packed])
      fs.cpSync(path.join(folder, name), path.join(staged, name), { recursive: true });
    run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', whole], staged);
  } finally {
    fs.rmSync(staged, { recursive: true, force: true });
  }
  const made = fs.readdirSync(whole).find((name) => name.endsWith('.tgz'));
  fs.renameSync(path.join(whole, made), path.join(whole, 'farebox-client.tgz'));
}

function vite(cwd, args) {
  run('node', [viteFile, 'build', '--logLevel', 'error', ...args], cwd);
}

function run(command, args, cwd) {
  // Our Node 24 comes first, because the system's Node may be too old for the tools.
  const env = { ...process.env, PATH: `${own}${path.delimiter}${process.env.PATH ?? ''}` };
  // All output goes to stderr, because it only describes failures and stdout belongs to the caller.
  const { status } = spawnSync(command, args, { cwd, env, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${path.basename(args[0])} failed.`);
}

/** Writes compressed copies of a text file, so that no request waits for compression. */
function compress(file) {
  if (!/\.(js|css|svg|json)$/.test(file)) return;
  const bytes = fs.readFileSync(file);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  fs.writeFileSync(`${file}.br`, brotliCompressSync(bytes, quality));
  fs.writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
}

/** Hash of everything that a build depends on: the sources and the versions of all packages. */
function sourcesHash(folder, sources) {
  const hash = createHash('sha256');
  const files = [
    path.join(root, 'package-lock.json'),
    ...sources.map((name) => path.join(folder, name)).flatMap(filesOf),
  ];
  for (const file of files.sort()) {
    hash.update(path.relative(root, file)).update('\0').update(fs.readFileSync(file)).update('\0');
  }
  return `${hash.digest('hex')}\n`;
}

/** The file itself, or all files below a folder, without tests. */
function filesOf(place) {
  if (!fs.statSync(place).isDirectory()) return [place];
  return fs
    .readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name));
}
