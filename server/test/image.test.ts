/** The contents of the container image, without a container engine. */
import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const linesOf = (file: string) =>
  readFileSync(path.join(root, file), 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/**
 * As an engine reads .dockerignore: the last rule for a path, or for a folder above it, decides.
 */
function isLeftOut(file: string, rules: string[]): boolean {
  const above = file.split('/').map((_, i, parts) => parts.slice(0, i + 1).join('/'));
  const last = rules.findLast((rule) => {
    const text = rule.replace(/^!/, '').replaceAll('.', '\\.');
    const pattern = text.replace('**/', '(.+/)?').replace(/(?<!\.)\*/g, '[^/]*');
    return above.some((each) => new RegExp(`^${pattern}$`).test(each));
  });
  return last !== undefined && !last.startsWith('!');
}

/** The files of a clone. */
function filesOf(source: string): string[] {
  if (source.includes('*')) return globSync(source, { cwd: root });
  const place = path.join(root, source);
  if (!statSync(place).isDirectory()) return [source];
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => !/(^|\/)(node_modules|dist)\//.test(file));
}

describe('the image', () => {
  const rules = linesOf('.dockerignore');
  const copies = linesOf('Dockerfile').filter((line) => line.startsWith('COPY '));

  test('gets every file that it copies', () => {
    const own = copies.filter((line) => !line.includes('--from='));
    const sources = own.flatMap((line) => line.split(/\s+/).slice(1, -1));
    assert.ok(sources.includes('server') && sources.includes('web'), sources.join(' '));
    for (const source of sources) {
      const forTests = (file: string) => /^\w+\/test\/|\.test\.ts$/.test(file);
      for (const file of filesOf(source))
        assert.equal(isLeftOut(file, rules), forTests(file), file);
    }
  });

  test('has every committed file that the installed program has', () => {
    const pack = readFileSync(path.join(root, 'bin/pack.mjs'), 'utf8');
    const [, list] = /const sources = \[([^\]]+)\]/.exec(pack)!;
    const read = [...list!.matchAll(/'(?::\(glob\))?([^']+)'/g)].map(([, source]) => source!);
    const [, , image] = readFileSync(path.join(root, 'Dockerfile'), 'utf8').split(/^FROM /m);
    const copied = [...image!.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, all]) =>
      all!.split(' '),
    );
    const unread = new Set(['CHANGELOG.md', 'README.md', 'docs/operating']);
    for (const source of read.filter((each) => !unread.has(each)))
      assert.ok(
        copied.some((each) => source === each || source.startsWith(`${each}/`)),
        `the image lacks ${source}`,
      );
  });

  test('has for its build the docs that the client\u2019s package carries', () => {
    const [, build] = readFileSync(path.join(root, 'Dockerfile'), 'utf8').split(/^FROM /m);
    const [before] = build!.split('RUN node bin/build.mjs');
    for (const folder of ['docs', 'docs/api'])
      assert.match(before!, new RegExp(`^COPY ${folder}(/\\S+)? ${folder}/?$`, 'm'));
  });

  test('gets no file that is built, secret or only for tests', () => {
    for (const file of [
      '.env',
      '.git/config',
      'client/dist/index.js',
      'data/secret',
      'node_modules/pg/package.json',
      'server/src/core/price/price.test.ts',
      'server/test/run.ts',
      'web/dist/index.html',
      'web/node_modules/vite/package.json',
    ])
      assert.ok(isLeftOut(file, rules), file);
  });
});
