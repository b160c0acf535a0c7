import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stepsTo } from './changed.ts';

const project = new Map([
  ['code/lib/a.ts', ''],
  ['code/db/b.ts', `import { a } from '../lib/a.ts';`],
  ['code/db/c.ts', `import type { A } from '../lib/a.ts';\nimport { b } from './b.ts';`],
  ['code/app.ts', `const late = await import('./db/c.ts');`],
  ['code/thread.ts', `new Worker(new URL('./lib/a.ts', import.meta.url));`],
  ['code/db/migrate.ts', `const dir = join(import.meta.dirname, '../../migrations');`],
  ['migrations/0001.sql', ''],
  ['test/app.test.ts', `import { app } from '../code/app.ts';\nconst root = join(dir, '../..');`],
  ['test/circle.test.ts', `import './circle.ts';`],
  ['test/circle.ts', `import './circle.test.ts';`],
  ['test/pictures.test.ts', `readFile(join(import.meta.dirname, './fixtures/x'));`],
]);

describe('a change concerns the files that lead to it, the nearest first', () => {
  const cases: [what: string, changed: string[], concerned: Record<string, number>][] = [
    [
      'by imports, also late ones and threads, but not by types',
      ['code/lib/a.ts'],
      {
        'code/db/b.ts': 1,
        'code/thread.ts': 1,
        'code/db/c.ts': 2,
        'code/app.ts': 3,
        'test/app.test.ts': 4,
      },
    ],
    ['by a folder that is read', ['migrations/0001.sql'], { 'code/db/migrate.ts': 1 }],
    ['also if it was deleted', ['test/fixtures/x/one.png'], { 'test/pictures.test.ts': 1 }],
    ['once in a circle', ['test/circle.ts'], { 'test/circle.test.ts': 1 }],
    ['by the shortest way', ['code/lib/a.ts', 'code/app.ts'], { 'test/app.test.ts': 1 }],
    ['not if none leads there', ['README.md'], {}],
  ];
  for (const [what, changed, concerned] of cases)
    test(what, () => {
      const steps = Object.fromEntries(stepsTo(changed, project));
      for (const file of changed) {
        assert.equal(steps[file], 0);
        delete steps[file];
      }
      for (const [file, count] of Object.entries(concerned)) assert.equal(steps[file], count, file);
      if (changed.length === 1) assert.deepEqual(steps, concerned);
    });
});
