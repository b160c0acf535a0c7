import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, describe, test } from 'node:test';
import { guards, type Guard } from './guards/index.ts';
import { copyRepository, isProven, staleness, tryGuard } from './sabotage.ts';

/** The short form of `node server/test/chaos/sabotage.ts`, which tries every guard. */

const deadline: Guard = {
  guards: 'a job is given up',
  file: 'src/core/request/request.ts',
  edits: [[`if (row.past_deadline) return 'give_up';`, '']],
  test: 'src/core/request/request.test.ts',
  name: 'past its deadline a polled job is given up',
};
/** Appears once in that file. */
const law = 'export function isFinal(';

describe('the table of guards', () => {
  test('fits the sources and the tests as they are now', () => {
    assert.deepEqual(
      guards.map(staleness).filter((why) => why !== null),
      [],
    );
  });

  const rotten: [what: string, change: Partial<Guard>, why: RegExp][] = [
    ['a text that is gone', { edits: [['no such text', '']] }, /found 0 times in src\/core/],
    ['a text that stands twice', { edits: [['return', '']] }, /found \d+ times in src\/core/],
    ['a test file that is gone', { test: 'test/none.test.ts' }, /there is no test\/none/],
    ['a test that is gone', { name: 'no such name' }, /has no test "no such name"/],
  ];
  for (const [what, change, why] of rotten) {
    test(`tells of ${what}`, () => {
      assert.match(staleness({ ...deadline, ...change }) ?? '', why);
    });
  }

  test('names each law once', () => {
    const names = guards.map((guard) => guard.guards);
    assert.deepEqual(names, [...new Set(names)]);
  });
});

describe('without its guard', () => {
  const copy = copyRepository();
  const greens = new Set<string>();
  after(() => fs.rmSync(copy, { recursive: true, force: true }));

  const quick = [
    'a reservation is covered by the balance',
    'the price of a delivery is capped by the quote',
    'an unfinished job is given up at its deadline',
  ];
  for (const name of quick) {
    test(`a test is red: ${name}`, async () => {
      const guard = guards.find((each) => each.guards === name)!;
      const verdict = await tryGuard(copy, guard, greens);
      assert.ok(isProven(verdict), `${verdict.whole}, then ${verdict.spoiled}\n${verdict.output}`);
    });
  }

  const useless: [what: string, change: Partial<Guard>, whole: string, spoiled: string][] = [
    ['an edit that changes nothing', { edits: [[law, `/* */ ${law}`]] }, 'green', 'green'],
    ['a source that does not load', { edits: [[law, `export ${law}`]] }, 'green', 'broken'],
    [
      'a test that looks elsewhere',
      { name: 'three of the five statuses are final' },
      'green',
      'green',
    ],
    ['a test that is not there', { name: 'no such name' }, 'broken', 'broken'],
  ];
  for (const [what, change, whole, spoiled] of useless) {
    test(`nothing is proven by ${what}`, async () => {
      const verdict = await tryGuard(copy, { ...deadline, ...change }, greens);
      assert.deepEqual([verdict.whole, verdict.spoiled], [whole, spoiled], verdict.output);
      assert.equal(isProven(verdict), false);
    });
  }
});
