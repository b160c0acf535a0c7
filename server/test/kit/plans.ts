import { rawSql, type Database, type Statement, type Transaction } from '../../src/lib/sql/sql.ts';

/** Plans of statements, and what they read. */

export interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Node[];
}

type Explanation = { 'QUERY PLAN': [{ Plan: Node }] };

const explain = ({ text, values }: Statement, more = ''): Statement =>
  rawSql(`explain (${more}format json) ${text}`, values);

/** The plan for these values. */
export async function planFor(db: Database, one: Statement, more = ''): Promise<Node> {
  const rows = await db.run<Explanation>(explain(one, more));
  return rows[0]!['QUERY PLAN'][0].Plan;
}

/** The plan for any values, as the service uses it. */
export function planForAll(
  db: Database,
  one: Statement,
  execute = executeWithNulls(one),
  more = '',
): Promise<Node> {
  return db.tx(async (tx) => {
    await tx.run(rawSql('set local plan_cache_mode = force_generic_plan'));
    await tx.run(rawSql(`prepare asked as ${one.text}`));
    const rows = await tx.run<Explanation>(rawSql(`explain (${more}format json) ${execute}`));
    await tx.run(rawSql('deallocate asked'));
    return rows[0]!['QUERY PLAN'][0].Plan;
  });
}

function executeWithNulls({ values }: Statement): string {
  return values.length === 0 ? 'execute asked' : `execute asked(${values.map(() => 'null')})`;
}

export function executeWith({ values }: Statement): string {
  return values.length === 0 ? 'execute asked' : `execute asked(${values.map(literal)})`;
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  const text = Buffer.isBuffer(value)
    ? `\\x${value.toString('hex')}`
    : value instanceof Date
      ? value.toISOString()
      : String(value);
  return `'${text.replaceAll("'", "''")}'`;
}

/** The rows read by the node that reads most, dropped rows included. */
export function rowsRead(node: Node): number {
  const rows =
    ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) *
    (node['Actual Loops'] ?? 1);
  const reads = node['Relation Name'] !== undefined || node['Index Name'] !== undefined;
  return Math.max(reads ? rows : 0, ...(node.Plans ?? []).map(rowsRead));
}

/** Blocks that the statement read, from memory or disk. */
export function blocks(node: Node): number {
  return (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);
}

/** The database, and the statements that are sent to it from now on. */
export function recorded(db: Database): { db: Database; sent: Statement[] } {
  const sent: Statement[] = [];
  const keep = <One extends Statement>(one: One) => {
    sent.push(one);
    return one;
  };
  const inside = (tx: Transaction): Transaction => ({
    run: (one) => tx.run(keep(one)),
    send: (one) => tx.send(keep(one)),
  });
  return {
    sent,
    db: { ...db, run: (one) => db.run(keep(one)), tx: (work) => db.tx((tx) => work(inside(tx))) },
  };
}
