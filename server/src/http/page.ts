/** A page of rows. `rows` has one more than the page shows, if there is a next page. */
export function pageFrom<Row extends { id: string }, Shown>(
  rows: Row[],
  { limit }: { limit: number },
  show: (row: Row) => Shown,
  cursorOf: (row: Row) => string = ({ id }) => id,
): { data: Shown[]; next_cursor: string | null } {
  const shown = rows.slice(0, limit);
  const next_cursor = rows.length > limit ? cursorOf(shown.at(-1)!) : null;
  return { data: shown.map(show), next_cursor };
}
