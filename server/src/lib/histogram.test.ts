import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { createHistogram } from './histogram.ts';

test('it tells exactly what prom-client tells of the same observations', async () => {
  const shared = { name: 'h', help: 'H.', labelNames: ['a', 'b'] as const, buckets: [0.1, 1, 10] };
  const [ours, theirs] = [new Registry(), new Registry()];
  const fast = createHistogram({ ...shared, registry: ours });
  const slow = new Histogram({ ...shared, labelNames: ['a', 'b'], registers: [theirs] });
  const seen: [string, string, number][] = [
    ['x', '1', 0.05],
    ['x', '1', 0.1],
    ['x', '1', 0.5],
    ['x', '2', 100],
    ['y', '1', 10],
    ['y', '1', 10.01],
  ];
  for (const [a, b, value] of seen) {
    fast.observe({ a, b }, value);
    slow.observe({ a, b }, value);
  }
  const lines = async (registry: Registry) =>
    (await registry.metrics()).trim().split('\n').toSorted();
  assert.deepEqual(await lines(ours), await lines(theirs));
});
