import { constant, type Columns } from './sql.ts';

export type RowOf<C> = C extends Columns<infer Row> ? Row : never;

interface Column<T> {
  /** Null: the column of that name. */
  sql: string | null;
  /** Does nothing: its type is that of the values. */
  value(value: T): void;
}

type Values<Each> = { [Name in keyof Each]: Each[Name] extends Column<infer T> ? T : never };

/** A column with values of this type. `from`: the SQL that makes it, if it is not in the table. */
export function of<T>(from: string | null = null): Column<T> {
  return { sql: from, value() {} };
}

/** Columns of the table that has this name in the statement. */
export function columns<Each extends Record<string, Column<unknown>>>(
  table: string,
  each: Each,
): Columns<Values<Each>> {
  const list = Object.entries(each).map(([name, { sql }]) =>
    sql === null ? `${table}.${name}` : `${sql} as ${name}`,
  );
  return Object.assign(constant(list.join(', ')), { row() {} });
}
