import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { faultRows, unguarded } from './faults.ts';
import { allGuards, root } from './sabotage.ts';

/** The table of faults. `npm run chaos` plays them. */

const server = path.join(root, 'server');
const rows = Object.entries(faultRows);

describe('the table of faults', () => {
  test('has R1 to R34, each with something that plays it', () => {
    const numbered = Array.from({ length: 34 }, (_, i) => `R${i + 1}`);
    assert.deepEqual(
      Object.keys(faultRows).filter((name) => name.startsWith('R')),
      numbered,
    );
    for (const [name, { tests, scene }] of rows) assert.ok(tests.length > 0 || scene, name);
  });

  test('names only tests that exist', () => {
    for (const [name, { tests }] of rows) {
      for (const file of tests)
        assert.ok(fs.existsSync(path.join(server, file)), `${name}: ${file}`);
    }
  });

  test('names a guard for each fault, whose test the fault plays', () => {
    for (const [name, { tests, guards }] of rows) {
      assert.equal(guards.length === 0, unguarded.includes(name), name);
      for (const guard of guards) {
        const row = allGuards.find((each) => each.name === guard);
        assert.ok(row, `${name}: there is no guard ${guard}`);
        assert.ok(tests.includes(row.test_file), `${name}: ${guard} is missed by ${row.test_file}`);
      }
    }
  });

  test('is what the page of reliability says', () => {
    const page = fs.readFileSync(path.join(root, 'docs/reliability.md'), 'utf8');
    for (const [name, { fault, promise }] of rows) {
      const line = `| ${name} | ${fault} | ${promise} |`;
      assert.ok(page.includes(line), `docs/reliability.md has no row that begins ${line}`);
    }
  });
});
