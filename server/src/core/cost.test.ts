import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatCost, costMaxUsdMicro, mediaCost, toldCost } from './cost.ts';

const route = { cost_usd_micro: 1n, cost_output_usd_micro: null };

test('a cost is rounded up to whole micro-USD', () => {
  assert.equal(mediaCost(route, 2.000001), 3n);
  assert.equal(toldCost(0.0000015), 2n);
});

test('what is too large to be a cost is not known, and throws nothing', () => {
  for (const quantity of [1e16, 1e30, 1e308, Infinity, NaN])
    assert.equal(mediaCost(route, quantity), null, String(quantity));
  assert.equal(mediaCost(route, 1e15), costMaxUsdMicro);
  assert.equal(chatCost(route, { prompt_tokens: 1e300, completion_tokens: 1 }), null);
  assert.equal(toldCost(1e9), null);
});
