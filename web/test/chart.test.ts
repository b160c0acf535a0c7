/** The scale of a chart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelled, scaleOf } from '../src/components/chart/scale.ts';

const cases: [what: string, values: number[], ticks: number[]][] = [
  ['nothing', [0, 0], [1, 0]],
  ['no column', [], [1, 0]],
  ['a millionth of a dollar', [1], [1, 0.5, 0]],
  ['cents', [10_000, 60_000], [60_000, 40_000, 20_000, 0]],
  ['an amount that is a step', [3_000_000], [3_000_000, 2_000_000, 1_000_000, 0]],
  ['one that is not', [3_000_001], [4_000_000, 2_000_000, 0]],
  ['millions of dollars', [7.4e12], [7.5e12, 5e12, 2.5e12, 0]],
  ['a loss beside a gain', [-10, 50], [60, 40, 20, 0, -20]],
  ['only a loss', [-7], [0, -2.5, -5, -7.5]],
  ['a rest of binary fractions', [0.3], [0.3, 0.2, 0.1, 0]],
];
for (const [what, values, ticks] of cases)
  test(`the axis of ${what} has the round numbers ${ticks.join(', ')}`, () => {
    const scale = scaleOf(values);
    assert.deepEqual(scale.ticks, ticks);
    const lies = (value: number, least: number, most: number) => {
      const depth = scale.depth(value);
      assert.ok(depth > least - 1e-9 && depth < most + 1e-9, `${value} lies at ${depth}`);
    };
    lies(ticks[0]!, 0, 0);
    lies(ticks.at(-1)!, 1, 1);
    for (const value of values) lies(value, 0, 1);
  });

test('names stand at equal distances below the axis, always below the last column', () => {
  assert.deepEqual([...labelled(7, 7)], [6, 5, 4, 3, 2, 1, 0]);
  assert.deepEqual([...labelled(30, 7)], [29, 24, 19, 14, 9, 4]);
  assert.deepEqual([...labelled(1, 7)], [0]);
  assert.deepEqual([...labelled(0, 7)], []);
});
