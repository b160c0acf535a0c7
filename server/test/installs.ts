import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { assertNoPostgres, call, placeFor, reaches } from './commands/cli.ts';

/**
 * The packed service, installed as an operator does. npm fetches the binaries of the platform from
 * the registry, so only `npm run installs` runs this file.
 */

const root = path.resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(path.join(root, 'server/package.json'), 'utf8'));
const made = (ending: string) => path.join(root, 'dist', `farebox-${version}${ending}`);
const run = promisify(execFile);
/** Beside Node, in bytes. */
const mostInstalled = 150_000_000;

let prefix: string;
let packed: string[];
let unreachable: string | undefined;
const folder = () => path.join(prefix, 'lib', 'node_modules', 'farebox');

before(async () => {
  prefix = mkdtempSync(path.join(process.env.FAREBOX_TEST_DISK ?? tmpdir(), 'farebox-prefix-'));
  packed = [await pack(), await pack()];
  try {
    await run('npm', ['view', 'sharp', 'version', '--fetch-retries=0'], { cwd: root });
  } catch {
    unreachable = 'the package registry cannot be reached';
    console.error(`NOT CHECKED: the installed service. Reason: ${unreachable}.`);
    return;
  }
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts'];
  await run('npm', ['install', '--global', '--prefix', prefix, made('.tgz'), ...flags]);
});
after(() => rmSync(prefix, { recursive: true, force: true }));

/** Packs, and returns the hash of all that was made. */
async function pack(): Promise<string> {
  await run(process.execPath, ['bin/pack.mjs'], { cwd: root });
  const hash = createHash('sha256');
  for (const ending of ['.tgz', '.cdx.json', '.md']) hash.update(readFileSync(made(ending)));
  return hash.digest('hex');
}

function filesBelow(place: string): string[] {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

test('packing twice gives the same bytes', () => {
  assert.equal(packed[0], packed[1]);
});

test('the list of parts names each package that the service installs, in its version', () => {
  const { components, metadata } = JSON.parse(readFileSync(made('.cdx.json'), 'utf8'));
  assert.equal(metadata.component.purl, `pkg:npm/farebox@${version}`);
  const { dependencies } = JSON.parse(readFileSync(path.join(root, 'server/package.json'), 'utf8'));
  const parts = new Map<string, string>();
  for (const part of components) parts.set(part.name, part.version);
  for (const [name, exact] of Object.entries(dependencies)) assert.equal(parts.get(name), exact);
  for (const name of ['oxlint', 'openai', 'react']) assert.ok(!parts.has(name), name);
});

test('the notes are those of one release', () => {
  const notes = readFileSync(made('.md'), 'utf8');
  assert.match(notes, new RegExp(`^# Farebox ${version}\n\n### `));
  assert.doesNotMatch(notes, /^## /m);
});

test('the installed files are small, and have no tests and no types', (t) => {
  if (unreachable) return t.skip(unreachable);
  const files = filesBelow(folder());
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB in ${files.length} files`);
  assert.ok(bytes <= mostInstalled, `${bytes} bytes`);
  const own = files.filter((file) => !file.includes('/farebox/node_modules/'));
  assert.deepEqual(
    own.filter((file) => /\.ts$|\.test\.|\/test\//.test(file)),
    [],
  );
});

test('the installed trial serves pages and docs, and completes an image', async (t) => {
  if (unreachable) return t.skip(unreachable);
  const place = placeFor(t, {}, path.join(prefix, 'bin', 'farebox'));
  // The package brings its own catalog.
  delete place.env.FAREBOX_CATALOG;
  const service = await place.start(['trial']);
  const { base } = service;
  const { key } = service.said;
  for (const address of [
    '/',
    '/sign-in',
    '/docs/api',
    '/v1/openapi.json',
    '/v1/farebox-client.tgz',
  ])
    assert.equal((await call(base, 'GET', address, null)).status, 200, address);
  const model = '/v1/queue/sandbox/canvas/text-to-image';
  const { status, body } = await call(base, 'POST', model, key, { prompt: 'a lighthouse' });
  assert.equal(status, 202, JSON.stringify(body));
  await reaches(base, key, body.request_id, 'COMPLETED');
  assert.equal(service.stderr(), '');
  assert.equal((await service.end('SIGINT')).code, 0);
  await assertNoPostgres(place);
  assert.equal((await place.command(['--version'])).stdout.trim(), version);
});

test('the installed service serves on a database of its own', async (t) => {
  if (unreachable) return t.skip(unreachable);
  const place = placeFor(t, {}, path.join(prefix, 'bin', 'farebox'));
  const env = { FAREBOX_BASE_URL: 'https://models.example.com/v1' };
  const service = await place.start(['serve', '--embedded'], env);
  assert.equal((await call(service.base, 'GET', '/readyz', null)).status, 200);
  assert.equal((await call(service.base, 'GET', '/v1/balance', 'fbx_none')).status, 401);
  assert.equal((await service.end('SIGTERM')).code, 0);
  await assertNoPostgres(place);
});
