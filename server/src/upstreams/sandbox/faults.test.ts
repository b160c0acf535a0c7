import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { faultsIn } from './faults.ts';

const none = {
  fail: false,
  reject: false,
  hang: false,
  badOutput: false,
  busy: false,
  lost: false,
  breaks: false,
  noUsage: false,
  slowSeconds: null,
  words: null,
  cachedTokens: null,
  tools: [],
  noTool: false,
};

describe('fault words', () => {
  test('an ordinary prompt asks for none', () => {
    for (const text of ['a fox in a sandbox: fail', 'sandboxfail', '', undefined, 7, null]) {
      assert.deepEqual(faultsIn(text), none);
    }
  });

  test('words stand anywhere, in any case, and add up', () => {
    const found = faultsIn('A fox, sandbox:slow=2.5. Sandbox:FAIL please');
    assert.deepEqual(found, { ...none, slowSeconds: 2.5, fail: true });
  });

  test('each word is known', () => {
    const all =
      'fail reject hang bad-output busy lost break no-usage slow=1 words=3 cached=9 no-tool'.split(
        ' ',
      );
    const found = faultsIn(all.map((word) => `sandbox:${word}`).join(' '));
    assert.deepEqual(
      Object.values(found).filter((value) => value === false || value === null),
      [],
    );
  });

  test('a word that is no fault, or lacks its figure, changes nothing', () => {
    assert.deepEqual(faultsIn('sandbox:dance sandbox:slow sandbox:words=many'), none);
  });

  test('figures are bounded', () => {
    assert.equal(faultsIn('sandbox:slow=999999').slowSeconds, 7200);
    assert.equal(faultsIn('sandbox:words=99999999').words, 20_000);
  });
});
