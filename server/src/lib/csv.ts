/** Comma-separated values (RFC 4180) that spreadsheets read correctly. */

export type Cell = string | number | bigint | null;

/**
 * A line with its line end. Texts are quoted, and a text that a spreadsheet would read as a formula
 * gets an apostrophe in front. Numbers and texts that are plain decimals are not quoted.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

const decimal = /^-?\d+(\.\d+)?$/;
/** The beginning of a formula, also after characters that spreadsheets strip. */
const formula = /^[\s\0]*[=+\-@\t\r\n|%＝＋－＠]/u;

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string' || decimal.test(cell)) return String(cell);
  const safe = formula.test(cell) ? `'${cell}` : cell;
  return `"${safe.replaceAll('"', '""')}"`;
}
