/** Lays pictures of different shapes out in rows of equal width, as a wall. */

export interface WallRow<Item> {
  items: { item: Item; width: number }[];
  height: number;
}

/** A picture that is far wider or taller would leave no room, so it is cropped. */
const ratios = { least: 0.5, most: 2.6 };

/**
 * Rows that fill `width`, near `height` high. The last row keeps that height and may be shorter.
 * `ratioOf`: width by height of an item; all sizes are in CSS pixels.
 */
export function justified<Item>(
  items: readonly Item[],
  ratioOf: (item: Item) => number,
  { width, height, gap }: { width: number; height: number; gap: number },
): WallRow<Item>[] {
  const rows: WallRow<Item>[] = [];
  let row: { item: Item; ratio: number }[] = [];
  let sum = 0;
  const close = (fills: boolean) => {
    const room = Math.max(0, width - gap * (row.length - 1));
    const high = fills ? room / sum : Math.min(height, room / sum);
    rows.push({
      height: high,
      items: row.map(({ item, ratio }) => ({ item, width: ratio * high })),
    });
    row = [];
    sum = 0;
  };
  for (const item of items) {
    const ratio = Math.min(ratios.most, Math.max(ratios.least, ratioOf(item)));
    row.push({ item, ratio });
    sum += ratio;
    if (sum * height + gap * (row.length - 1) >= width) close(true);
  }
  if (row.length > 0) close(false);
  return rows;
}
