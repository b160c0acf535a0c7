import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { guards, laws } from './guards.ts';
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
import { findGuards, switchedOff } from './switch-off.ts';

/** The short form of `npm run sabotage`, which tries every guard. */

const server = path.join(root, 'server');
const sourceOf = (file: string) => fs.readFileSync(path.join(server, file), 'utf8');

describe('the table of guards', () => {
  test('has the guards that the sources have, each once', () => {
    const listed = Object.values(guards).flatMap((tests) => Object.keys(tests));
    const marked = [...findGuards(path.join(server, 'src')).keys()];
    assert.deepEqual(listed.toSorted(), marked.toSorted());
  });

  test('has laws that the schema has', () => {
    const files = fs.readdirSync(path.join(server, 'migrations'));
    const schema = files.map((file) => sourceOf(`migrations/${file}`)).join('\n');
    for (const name of Object.keys(laws)) assert.ok(schema.includes(` ${name} `), name);
  });

  test('names tests that there are', () => {
    for (const { name, test_file, test: title } of allGuards)
      assert.ok(sourceOf(test_file).includes(title), `${name}: ${test_file} has no "${title}"`);
  });
});

describe('a guard that is switched off', () => {
  const forms: [form: string, off: string, source: string, without: string][] = [
    ['an if', '', '  if (a || b) throw c;', '  if (false) if (a || b) throw c;'],
    ['an if of several lines', '', 'if (\n  a\n) {', 'if (false) if (\n  a\n) {'],
    ['an if that lets pass', 'true', 'if (a) return b;', 'if (true || a) return b;'],
    ['a call', '', '  a.delete(b);', '  if (false) a.delete(b);'],
    ['an assignment', '', 'this.#a = b();', 'if (false) this.#a = b();'],
    ['a returned value', '', 'return a ? b : c;', 'return false && a ? b : c;'],
    ['a returned condition', 'true', 'return a || b;', 'return true || a || b;'],
    ['a constant', 'undefined', 'const a = b();', 'const a = undefined && b();'],
    ['a property', '', '  a: b && c,', '  a: false && b && c,'],
    ['an argument', 'Infinity', '  null,', '  Infinity || null,'],
  ];
  for (const [form, off, source, without] of forms) {
    const marker = `// guard: x${off && ` (off: ${off})`}`;
    test(`is no longer there: ${form}`, () => {
      assert.equal(switchedOff(`${marker}\n${source}`, 'x'), `${marker}\n${without}`);
    });
  }

  const clauses: [clause: string, source: string, without: string][] = [
    ['a condition', '  and a = b -- guard: x', ''],
    ['a clause at the end', '  for update -- guard: x`);', '`);'],
    [
      'a condition that lets nothing pass',
      '  where ${a} -- guard: x (off: false)',
      '  where false',
    ],
    ['a value', '  w.a, -- guard: x (off: now())', '  now(),'],
  ];
  for (const [clause, source, without] of clauses) {
    test(`is no longer in the SQL: ${clause}`, () => {
      assert.equal(switchedOff(source, 'x'), without);
    });
  }

  test('leaves others as they are, also those of the same line', () => {
    const source = '// guard: x\n// guard: y\nif (a) b();\n// guard: z\nc();';
    assert.equal(switchedOff(source, 'x'), source.replace('if (a)', 'if (false) if (a)'));
  });
});

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
