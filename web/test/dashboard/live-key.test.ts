/** Cached lists of requests, and the changes that the event stream reports. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveKey, liveSearch } from '../../src/dashboard/requests/live-key.ts';

test('a live list is matched by the search of its key', () => {
  for (const search of [{}, { status: 'FAILED' }, { model: 'fake/image', id: '7' }] as const)
    assert.deepEqual(liveSearch(liveKey('account', search)), search);
});

test('changes are put into no list that a page asks for by route and arguments', () => {
  const queries = [{}, { query: { status: 'FAILED' } }, { query: { limit: 5 } }, undefined];
  for (const given of queries)
    assert.equal(liveSearch(['account', 'account', 'GET /requests', given]), null);
  assert.equal(liveSearch(['account', 'account', 'GET /keys', 'live', {}]), null);
});
