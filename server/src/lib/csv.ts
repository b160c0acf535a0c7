/** Comma-separated values (RFC 4180) that a spreadsheet takes for what they are. */

export type Cell = string | number | bigint | null;

/**
 * A line with its end. Texts stand in quotes, and one that a spreadsheet would take for a formula
 * has an apostrophe before it; a number is bare. A text that is a plain decimal is a number.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

const decimal = /^-?\d+(\.\d+)?$/;
/** What begins a formula, also after what spreadsheets strip. */
const formula = /^[\s\0]*[=+\-@\t\r\n|%＝＋－＠]/u;

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string' || decimal.test(cell)) return String(cell);
  const safe = formula.test(cell) ? `'${cell}` : cell;
  return `"${safe.replaceAll('"', '""')}"`;
}
