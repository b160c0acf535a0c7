/** The state of the money pages, read from their address and written into it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statementSearch, topUpSearch } from '../../src/dashboard/money/money-search.ts';

test('a statement keeps valid days of its address', () => {
  const days = { from: '2026-02-28', to: '2028-02-29' };
  assert.deepEqual(statementSearch(days), days);
});

test('a statement drops days that do not exist', () => {
  for (const from of ['2026-02-30', '2026-02-29', '2026-04-31', '2026-13-01', '2026-01-00', 'now'])
    assert.deepEqual(statementSearch({ from, to: '2026-05-01' }), { to: '2026-05-01' }, from);
});

test('the way back from a top-up leads into the studio only', () => {
  for (const back of ['/studio', '/studio?q=cat', '/studio/sandbox/canvas', '/studio/chat?c=a1'])
    assert.deepEqual(topUpSearch({ back }), { back });
  for (const back of ['//evil.example', 'https://evil.example', '/studios', '/operator', '', 7])
    assert.deepEqual(topUpSearch({ back }), {}, String(back));
});
