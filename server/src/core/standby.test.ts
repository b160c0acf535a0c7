import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whyUnused, type StandbyState } from './standby.ts';

const good: StandbyState = { follows: true, is_ours: true, schema: 68, lag_seconds: 0 };
const limits = { needs: 68, lagMax: 30, isUsed: true };

const rows: [Partial<StandbyState>, Partial<typeof limits>, ReturnType<typeof whyUnused>][] = [
  [{}, {}, null],
  [{ schema: 69 }, {}, null],
  [{ follows: false }, {}, 'takes_writes'],
  [{ is_ours: false }, {}, 'another_database'],
  [{ schema: 67 }, {}, 'older_schema'],
  [{ lag_seconds: 30 }, {}, null],
  [{ lag_seconds: 30.1 }, {}, 'lags'],
  [{ lag_seconds: 3600 }, {}, 'lags'],
  [{ lag_seconds: null }, {}, 'lags'],
  [{ lag_seconds: 16 }, { isUsed: false }, 'lags'],
  [{ lag_seconds: 15 }, { isUsed: false }, null],
];

for (const [look, limit, why] of rows)
  test(`a standby with ${JSON.stringify({ ...look, ...limit })} is ${why ?? 'used'}`, () => {
    assert.equal(whyUnused({ ...good, ...look }, { ...limits, ...limit }), why);
  });
