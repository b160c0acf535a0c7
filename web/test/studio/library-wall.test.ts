import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { justified } from '../../src/studio/library/justified.ts';

const laid = (ratios: number[], width = 1000, height = 200) =>
  justified(ratios, (ratio) => ratio, { width, height, gap: 8 });
const widthOf = (row: { items: { width: number }[] }) =>
  row.items.reduce((sum, { width }) => sum + width, 8 * (row.items.length - 1));

describe('a wall', () => {
  test('fills every row but the last, near the wanted height, in order', () => {
    const ratios = Array.from({ length: 200 }, (_, i) => [1, 16 / 9, 9 / 16, 4 / 3][i % 4]!);
    const rows = laid(ratios);
    assert.deepEqual(
      rows.flatMap(({ items }) => items.map(({ item }) => item)),
      ratios,
    );
    for (const row of rows.slice(0, -1)) {
      assert.ok(Math.abs(widthOf(row) - 1000) < 1e-6);
      assert.ok(row.height > 120 && row.height <= 200, String(row.height));
    }
    assert.ok(widthOf(rows.at(-1)!) <= 1000 + 1e-6);
  });

  const odd: [what: string, ratios: number[], width?: number][] = [
    ['nothing', []],
    ['one picture', [1]],
    ['one that is far too wide', [50]],
    ['one that is far too tall', [0.01]],
    ['a window that is hardly there', [1, 1, 1], 10],
  ];
  for (const [what, ratios, width] of odd)
    test(`of ${what} stays within its window`, () => {
      for (const row of laid(ratios, width)) {
        assert.ok(widthOf(row) <= Math.max(width ?? 1000, 0) + 1e-6);
        assert.ok(row.height >= 0 && Number.isFinite(row.height));
      }
    });
});
