/** The table of pages has every page. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { visitorNames } from './look.ts';
import { areaNames, filesOf, looks, states } from './pages.ts';

const src = join(import.meta.dirname, '../../src');

/** The files that name routes, and how. */
const routes: [file: string, route: RegExp, prefix: string][] = [
  ['app.tsx', /^ {4}\['(\/[\w-]+)', lazyPage/gm, ''],
  ['dashboard/pages.ts', /^ {2}'([^']*)': \[/gm, '/dashboard'],
  ['studio/pages.ts', /path: '([\w$][^']*)'/g, '/studio/'],
  ['operator/pages.ts', /^ {2}'([^']*)': lazyPage/gm, ''],
];

/** Each value is a segment, as an id is. */
const life = {
  account_id: 'a',
  image: 'i',
  failed: 'f',
  transfer_id: 't',
  invitation: '/invitation',
};

test('each route of the pages is walked', () => {
  const paths = looks.map(({ path }) => (typeof path === 'string' ? path : path(life)));
  const walked = paths.map((path) => path.split('?')[0]!);
  for (const [file, route, prefix] of routes) {
    const names = [...readFileSync(join(src, file), 'utf8').matchAll(route)];
    assert.ok(names.length > 1, `${file} names its routes in another way`);
    for (const [, name] of names) {
      const parts = `${prefix}${name}`.split('/').map((part) => {
        if (part === '$') return '.+';
        return part.startsWith('$') ? '[^/]+' : part;
      });
      const isRoute = new RegExp(`^${parts.join('/')}$`);
      assert.ok(
        walked.some((path) => isRoute.test(path)),
        `${prefix}${name} has no row in web/test/walk`,
      );
    }
  }
});

test('each row of an area is walked by one of its files', () => {
  for (const area of areaNames)
    for (let n = 1; n <= filesOf[area]; n++) {
      const file = join(import.meta.dirname, `${area}-${n}-pages.long.test.ts`);
      assert.match(readFileSync(file, 'utf8'), new RegExp(`walkArea\\('${area}', ${n}\\);`));
    }
});

test('each page has a name of its own', () => {
  const names = [...looks, ...states].map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
  assert.ok(visitorNames.every((who) => [...looks, ...states].some((look) => look.who === who)));
});
