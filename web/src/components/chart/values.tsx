import type { ReactNode } from 'react';
import { Usd } from '../text.tsx';

/** The values of a chart. */

export interface Series {
  name: string;
  /** A colour of the look, such as `var(--c1)`. */
  color: string;
  /** A value for each column; micro-USD unless the chart has a `format`. Null: there is none. */
  values: Values;
}

export type Values = readonly (number | null)[];

export interface ChartProps {
  /** Says what the chart shows, for those who do not see it. */
  label: string;
  /** The columns from left to right: `short` below the axis, `long` elsewhere. */
  columns: readonly { short: string; long: string }[];
  /** The columns in one word, such as "Day". */
  columnsName: string;
  series: readonly Series[];
  /** The same columns of the period before, as a dashed line. */
  before?: { name: string; values: Values } | undefined;
  /** Bars are stacked, and their sum counts. Each line counts by itself. */
  shape?: 'bars' | 'lines';
  /** Writes a value that is not an amount of money. */
  format?: (value: number) => string;
  /** The last column is still growing, such as today. */
  isOpen?: boolean;
  /** Shows the table that is otherwise only for screen readers. */
  asTable?: boolean;
  /** Further columns of the table, in whole numbers. */
  counts?: readonly { name: string; values: Values }[];
}

/** A value as the chart writes it. */
export function valueOf(value: number | null, format: ChartProps['format']): ReactNode {
  if (value === null) return '–';
  return format ? format(value) : <Usd micro={BigInt(Math.round(value))} />;
}

export function sumOf(values: Values): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}
