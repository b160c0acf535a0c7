import { createReadStream } from 'node:fs';
import { within, type Database } from '../lib/sql/sql.ts';
import { codeOf } from '../lib/unknown.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { withDatabase } from './database.ts';
import { countText, type Context } from './output.ts';
import { isExpected } from './tell.ts';

/** The rows of a file, each as one command would take it, and all of them in one transaction. */

export interface Line<Row> {
  /** Counted from 1. */
  line: number;
  row: Row;
}

export interface Column {
  name: string;
  required: boolean;
  usual: unknown;
  /** Throws an error with a sentence for people. */
  read(cell: unknown): unknown;
}

interface Fault {
  line: number;
  says: string;
}

type Cells = Record<string, unknown>;

const rowsMax = 1_000;
/** A row of long texts has about 1 kB. */
const bytesMax = 2_000_000;
const faultsShown = 20;

/**
 * Reads a CSV file, whose first line names the columns, or one JSON object a line. Throws
 * `CommandFailed` with the faults of all rows.
 */
export async function readRows<Row>(
  file: string,
  columns: readonly Column[],
): Promise<Line<Row>[]> {
  const text = await textOf(file);
  const isCsv = /\.csv$/i.test(file);
  const isNdjson = /\.(ndjson|jsonl)$/i.test(file) || (!isCsv && /^\s*\{/.test(text));
  const found = isNdjson ? readNdjson(text) : await readCsv(text, columns);
  if (found.length === 0) throw new CommandFailed(`The file has no rows. ${namesOf(columns)}`);
  if (found.length > rowsMax)
    throw new CommandFailed(`A file may have at most ${rowsMax} rows, not ${found.length}.`);
  const faults: Fault[] = [];
  const rows = found.map(({ line, row: cells }) => {
    const fault = (says: string) => void faults.push({ line, says });
    if (cells === null) fault('is not a JSON object.');
    else if (misnamed(Object.keys(cells), columns)) fault(misnamed(Object.keys(cells), columns)!);
    else return { line, row: typed(cells, columns, fault) as Row };
    return [];
  });
  if (faults.length > 0) throw refusedFor(faults);
  return rows.flat();
}

async function textOf(file: string): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of file === '-' ? process.stdin : createReadStream(file)) {
      parts.push(Buffer.from(part as Buffer));
      size += parts.at(-1)!.length;
      if (size > bytesMax) throw new CommandFailed(`A file may have at most ${bytesMax} bytes.`);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch (error) {
    if (error instanceof CommandFailed) throw error;
    const why = error instanceof TypeError ? 'it is not text in UTF-8' : codeOf(error);
    throw new CommandFailed(`${file} cannot be read: ${why}.`);
  }
}

function readNdjson(text: string): Line<Cells | null>[] {
  const lines = text.split(/\r?\n/).map((json, i) => ({ line: i + 1, json }));
  return lines
    .filter(({ json }) => json.trim() !== '')
    .map(({ line, json }) => ({ line, row: objectIn(json) }));
}

function objectIn(json: string): Cells | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && !Array.isArray(value) ? (value as Cells | null) : null;
  } catch {
    return null;
  }
}

/** Spreadsheets of some countries separate by semicolons; no column's name contains either. */
async function readCsv(text: string, columns: readonly Column[]): Promise<Line<Cells>[]> {
  const { CsvError, parse } = await import('csv-parse/sync');
  const demandNames = (names: string[]) => {
    const says = misnamed(names, columns);
    if (says) throw new CommandFailed(`line 1: ${says}`);
    return names;
  };
  try {
    const read = parse<{ record: Cells; info: { lines: number } }>(text, {
      columns: demandNames,
      delimiter: /[,;\t]/.exec(text)?.[0] ?? ',',
      info: true,
      trim: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
    });
    return read.map(({ record: row, info }) => ({ line: info.lines, row }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CommandFailed(`The file is not CSV: ${error.message}.`);
  }
}

/** A sentence about names that are unknown, given twice or missing; null if there are none. */
function misnamed(names: readonly string[], columns: readonly Column[]): string | null {
  const known = new Set(columns.map(({ name }) => name));
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) return `"${unknown}" is not a column. ${namesOf(columns)}`;
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) return `The column ${twice} is there twice.`;
  const missing = columns.find(({ name, required }) => required && !names.includes(name));
  return missing ? `${missing.name} is missing. ${namesOf(columns)}` : null;
}

function namesOf(columns: readonly Column[]): string {
  const names = (required: boolean) =>
    columns.filter((column) => column.required === required).map(({ name }) => name);
  return `Columns: ${names(true).join(', ')}; if wanted: ${names(false).join(', ')}.`;
}

function typed(cells: Cells, columns: readonly Column[], fault: (says: string) => void): Cells {
  const row: Cells = {};
  for (const { name, required, usual, read } of columns) {
    const cell = cells[name] ?? '';
    try {
      if (cell !== '') row[name] = read(cell);
      else if (usual !== undefined) row[name] = usual;
      else if (required) fault(`${name} is empty.`);
    } catch (error) {
      fault(`${name}: ${(error as Error).message}`);
    }
  }
  return row;
}

/**
 * Does the work of all rows in one transaction, and returns what came of them in the file's order.
 * If a row is refused, the others are tried too, all are undone, and `CommandFailed` names each
 * refused line.
 */
export function allOrNone<Row, Found extends { id: string }, Done extends object>(
  context: Context,
  rows: readonly Line<Row>[],
  find: (db: Database, row: Row, line: number) => Promise<Found>,
  work: (db: Database, row: Row, found: Found) => Promise<Done>,
): Promise<(Done & { line: number })[]> {
  const inOne = async (db: Database) => {
    const faults: Fault[] = [];
    const judged = async <T>(line: number, judge: () => Promise<T>): Promise<T[]> => {
      try {
        return [await judge()];
      } catch (error) {
        if (isExpected(error)) faults.push({ line, says: error.message });
        // After a refusal by the database itself, it answers nothing more in this transaction.
        else throw faults.length > 0 ? refusedFor(faults) : error;
        return [];
      }
    };
    const found = [];
    for (const { line, row } of rows)
      found.push(
        ...(await judged(line, async () => ({ line, row, of: await find(db, row, line) }))),
      );
    // Accounts are locked in the order of their ids, as everywhere.
    found.sort((a, b) => (a.of.id < b.of.id ? -1 : Number(a.of.id > b.of.id)));
    const done = [];
    for (const { line, row, of } of found)
      done.push(...(await judged(line, async () => ({ line, ...(await work(db, row, of)) }))));
    // guard: all-rows-or-none
    if (faults.length > 0) throw refusedFor(faults);
    return done.sort((a, b) => a.line - b.line);
  };
  return withDatabase(context, (db) => db.tx((tx) => inOne(within(db, tx))));
}

function refusedFor(faults: Fault[]): CommandFailed {
  const inOrder = faults.toSorted((a, b) => a.line - b.line);
  const shown = inOrder.slice(0, faultsShown).map(({ line, says }) => `line ${line}: ${says}`);
  const more = faults.length - shown.length;
  const rest = more > 0 ? [`and ${countText(more, 'more fault')}.`] : [];
  return new CommandFailed(['Nothing was changed.', ...shown, ...rest].join('\n'));
}
