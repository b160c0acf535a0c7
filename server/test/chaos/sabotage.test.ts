import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { guards } from './guards.ts';
import { allGuards, root } from './sabotage.ts';
import { findGuards, switchedOff } from './switch-off.ts';

/** The table of guards, and how a guard is switched off. `npm run sabotage` tries every guard. */

const server = path.join(root, 'server');
const sourceOf = (file: string) => fs.readFileSync(path.join(server, file), 'utf8');

describe('the table of guards', () => {
  test('has the guards that the sources have, each once', () => {
    const listed = Object.values(guards).flatMap((tests) => Object.keys(tests));
    const marked = [...findGuards(path.join(server, 'src')).keys()];
    assert.deepEqual(listed.toSorted(), marked.toSorted());
  });

  test('names only tests that exist', () => {
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
