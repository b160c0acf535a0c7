import type { Config } from '../config.ts';
import { formatUsd } from '../core/price/money.ts';
import type { Database } from '../lib/sql/sql.ts';

/** A command's environment and output. */
export interface Terminal {
  /** Default: the environment of the process. */
  env?: NodeJS.ProcessEnv;
  /** Writes a line, or several. */
  out(text: string): void;
  err(text: string): void;
  /** Set if a person looks at a screen. The signal fires when they leave. */
  screen?: (() => AbortSignal) | undefined;
  /** Used in place of the configured database, and left open. */
  db?: Database | undefined;
}

/** The output of a command: one JSON object with --json, otherwise the text. */
export interface CommandOutput {
  json: object;
  text: string;
  /** For a person, on stderr, so that `$(…)` gets the text alone. */
  note?: string | undefined;
  /** 1: the command found something wrong. */
  exit?: 0 | 1;
}

/** Context of every command. */
export interface Context extends Terminal {
  config: Config;
  json: boolean;
}

/** Amounts are printed as decimal strings. */
export function print(context: Context, { json, text, note }: CommandOutput): void {
  const plain = (_name: string, item: unknown) => (typeof item === 'bigint' ? String(item) : item);
  context.out(context.json ? JSON.stringify(json, plain) : text);
  if (note !== undefined && !context.json) context.err(note);
}

/** `1 account`, `2 accounts`. For nouns whose plural ends in s. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A readable duration: 40 s, 12 min, 3 h. */
export function seconds(value: number): string {
  if (value < 120) return `${Math.ceil(value)} s`;
  return value < 7200 ? `${Math.round(value / 60)} min` : `${Math.round(value / 3600)} h`;
}

type Cell = string | number | bigint | Date | null;

/** Heads of columns, each with the field of a row or the cell. A `bigint` is an amount. */
export type TableColumns<Row> = Record<string, keyof Row | ((row: Row) => Cell)>;

/** A table of the rows, with columns padded to their widest cell. */
export function table<Row extends object>(
  rows: readonly Row[],
  columns: TableColumns<Row>,
): string {
  const cellOf = (row: Row, column: TableColumns<Row>[string]) =>
    wordOf(typeof column === 'function' ? column(row) : row[column]);
  const all = Object.values(columns);
  return alignCells([
    Object.keys(columns),
    ...rows.map((row) => all.map((each) => cellOf(row, each))),
  ]);
}

/** A list: its JSON, in which `id` has the name of its noun, and its table. */
export function listOf<Row extends { id: string }, const Name extends string>(
  name: Name,
  rows: readonly Row[],
  columns: TableColumns<Row>,
): CommandOutput {
  const data = rows.map(({ id, ...row }) => ({ [name]: id, ...row }));
  return { json: { data }, text: table(rows, columns) };
}

/** Lines of cells, in columns as wide as their widest cell. */
export function alignCells(lines: readonly string[][]): string {
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function wordOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'bigint') return formatUsd(value);
  return value instanceof Date ? value.toISOString() : String(value);
}
