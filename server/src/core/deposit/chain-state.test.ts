import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Chain } from './chain.ts';
import { chainState, type ReadFacts } from './chain-state.ts';

const facts: ReadFacts = {
  stopped_why: null,
  refused_why: null,
  last_error: null,
  lag_seconds: 40,
  unread_seconds: 10,
};
const chain: Chain = {
  name: 'bsc',
  title: 'BNB Chain',
  family: 'evm',
  chain_id: 56,
  block_seconds: 3,
  finality: { confirmations: 100 },
  final_seconds: null,
  start_height: null,
  minimum_usd_micro: 1n,
  explorer: null,
  tokens: [],
};

const failed = { last_error: 'no reply' };
const never = { lag_seconds: null, unread_seconds: null };
const cases: [Partial<ReadFacts>, expected: string, finality?: Chain['finality']][] = [
  [{}, 'read'],
  [never, 'starting'],
  [{ ...never, ...failed }, 'behind'],
  [{ lag_seconds: null }, 'read'],
  [failed, 'retrying'],
  [{ ...failed, unread_seconds: 900 }, 'retrying'],
  [{ ...failed, unread_seconds: 901 }, 'behind'],
  [{ unread_seconds: 901 }, 'behind'],
  [{ lag_seconds: 1_200 }, 'read'],
  [{ lag_seconds: 1_201 }, 'behind'],
  [{ lag_seconds: 2_100 }, 'read', 'finalized'],
  [{ lag_seconds: 2_101 }, 'behind', 'finalized'],
  [{ refused_why: 'a wrong setting', ...failed, ...never }, 'refused'],
  [{ stopped_why: 'a replaced block', refused_why: 'a wrong setting' }, 'stopped'],
];

for (const [change, expected, finality = chain.finality] of cases)
  test(`${JSON.stringify(change)} is ${expected}`, () => {
    assert.equal(chainState({ ...facts, ...change }, { ...chain, finality }), expected);
  });
