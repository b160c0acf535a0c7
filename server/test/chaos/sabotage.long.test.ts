import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import {
  allGuards,
  changesWithout,
  copyRepository,
  isProven,
  root,
  tryGuard,
  type Changes,
  type Guard,
} from './sabotage.ts';

/** A few guards are tried here; `npm run sabotage` tries every one. */

const server = path.join(root, 'server');
const sourceOf = (file: string) => fs.readFileSync(path.join(server, file), 'utf8');

describe('without its guard', () => {
  const copy = copyRepository();
  const greens = new Set<string>();
  after(() => fs.rmSync(copy, { recursive: true, force: true }));
  const named = (name: string) => allGuards.find((each) => each.name === name)!;

  for (const name of ['covered-by-balance', 'charge-within-quote', 'deadline-ends']) {
    test(`a test is red: ${name}`, async () => {
      const changes = changesWithout(name, path.join(copy, 'server'));
      const verdict = await tryGuard(copy, named(name), changes, greens);
      assert.ok(isProven(verdict), `${verdict.whole}, then ${verdict.spoiled}\n${verdict.output}`);
    });
  }

  const file = 'src/core/request/request.ts';
  const off = changesWithout('deadline-ends', server);
  const useless: [
    what: string,
    change: Partial<Guard>,
    changes: Changes,
    whole: string,
    spoiled: string,
  ][] = [
    ['a change of nothing', {}, { [file]: sourceOf(file) }, 'green', 'green'],
    ['a source that does not load', {}, { [file]: 'export export' }, 'green', 'broken'],
    [
      'a test that looks elsewhere',
      { test: 'three of the five statuses are final' },
      off,
      'green',
      'green',
    ],
    ['a test that is not there', { test: 'no such name' }, off, 'broken', 'broken'],
  ];
  for (const [what, change, changes, whole, spoiled] of useless) {
    test(`nothing is proven by ${what}`, async () => {
      const guard = { ...named('deadline-ends'), ...change };
      const verdict = await tryGuard(copy, guard, changes, greens);
      assert.deepEqual([verdict.whole, verdict.spoiled], [whole, spoiled], verdict.output);
      assert.equal(isProven(verdict), false);
    });
  }
});
