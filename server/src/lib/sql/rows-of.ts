import { keysOf } from '../records.ts';
import type { Fragment } from './sql.ts';
import { arrayLiteral, jsonTexts, type Item } from './sql-array.ts';

/** Values of `json` columns are given as JSON texts. */
type ColumnType =
  | 'uuid'
  | 'text'
  | 'int'
  | 'bigint'
  | 'numeric'
  | 'float8'
  | 'bool'
  | 'bytea'
  | 'timestamptz'
  | 'json';

/**
 * Rows as a table to select from, with the named fields as its columns: `from ${rowsOf(claims, {
 * id: 'uuid', attempt: 'int' })} as d`. A missing field is null. The first column must have a value
 * in each row, and must not be `json`.
 */
export function rowsOf<Row>(
  rows: readonly Row[],
  columns: { [Name in keyof Row]?: Row[Name] extends Item | undefined ? ColumnType : never },
): Fragment {
  const names = keysOf<keyof Row & string>(columns);
  const listOf = (name: keyof Row, n: number) => {
    const items: Item[] = [];
    let isEmpty = true;
    for (const row of rows) {
      // The type of `columns` allows only fields with such values.
      const item = (row[name] ?? null) as Item;
      isEmpty &&= item === null;
      items.push(item);
    }
    // `unnest` fills a missing list with nulls. The first list says how many rows there are.
    if (isEmpty && n > 0) return null;
    return columns[name] === 'json' ? jsonTexts(items) : arrayLiteral(items);
  };
  const from = (bind: (value: unknown) => string) => {
    const isJson = (name: keyof Row) => columns[name] === 'json';
    const lists = names.map((name, n) =>
      isJson(name)
        ? `string_to_array(${bind(listOf(name, n))}, chr(30), '')`
        : `${bind(listOf(name, n))}::${columns[name]}[]`,
    );
    const selected = names.map((name) => (isJson(name) ? `${name}::json` : name));
    return `(select ${selected} from unnest(${lists}) as rows (${names}))`;
  };
  return Object.assign(from, { parameters: () => names.map(listOf) });
}
