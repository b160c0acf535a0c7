import type { Column } from './DataList.tsx';
import { Usd } from './text/Usd.tsx';
import { When } from './text/When.tsx';

/** Columns of one figure, right-aligned. */

export function usdColumn<Row>(label: string, micro: (row: Row) => string): Column<Row> {
  return { label, number: true, cell: (row) => <Usd micro={micro(row)} column /> };
}

export function countColumn<Row>(label: string, count: (row: Row) => number): Column<Row> {
  return { label, number: true, cell: (row) => <span className="number">{count(row)}</span> };
}

/** `brief` shows the date only. */
export function whenColumn<Row>(
  label: string,
  at: (row: Row) => string,
  brief = false,
): Column<Row> {
  return { label, number: true, cell: (row) => <When at={at(row)} brief={brief} /> };
}
