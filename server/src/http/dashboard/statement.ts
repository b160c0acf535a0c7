import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { formatUsd } from '../../core/price/money.ts';
import {
  movements,
  movementsUpwards,
  movementTotals,
  seqsBetween,
  statementLines,
  type Movement,
  type MovementFilter,
} from '../../ledger/statement.ts';
import { csvLine, type Cell } from '../../lib/csv.ts';
import { badParameter, limitOf, momentOf, optionalText } from '../query.ts';
import type { Visit, WebDeps } from '../session/visit.ts';

/** Every movement of an account's money: on pages, and as a file. */

const kinds = ['deposit', 'adjustment', 'reserve', 'charge', 'release'] as const;
/** Rows that an export holds at a time; between two of them other calls have their turn. */
const exportRows = 1000;

/** GET /statement?kind=&from=&to=&limit=&cursor=: newest first. */
export async function list(visit: Visit, _reply: FastifyReply, { db }: WebDeps): Promise<unknown> {
  const page = await pageOf(visit, { db });
  return pageFrom(await movements(db, { ...page, limit: page.limit + 1 }), page.limit, view);
}

/**
 * GET /statement/lines?from=&to=&limit=&cursor=: one line for each top-up, correction and request,
 * newest first.
 */
export async function lines(
  visit: Visit,
  _reply: FastifyReply,
  { db, catalog }: WebDeps,
): Promise<unknown> {
  const page = await pageOf(visit, { db });
  const { models } = catalog();
  return pageFrom(
    await statementLines(db, { ...page, limit: page.limit + 1 }),
    page.limit,
    (row) => ({
      ...row,
      seq: Number(row.seq),
      model_name: row.model_id && (models.get(row.model_id)?.name ?? row.model_id),
      effect_usd_micro: String(row.effect_usd_micro),
      balance_usd_micro: String(row.balance_usd_micro),
      held_usd_micro: row.held_usd_micro?.toString() ?? null,
    }),
  );
}

async function pageOf(visit: Visit, { db }: Pick<WebDeps, 'db'>) {
  const query = visit.query as Record<string, unknown>;
  const limit = limitOf(query, { usual: 20, max: 100 });
  const filter = await filterOf(visit, { db });
  const cursor = optionalText(query, 'cursor');
  if (cursor !== null && !/^[1-9]\d{0,17}$/.test(cursor))
    throw badParameter('cursor', 'must be a next_cursor of this list');
  const below = cursor === null ? filter.below_seq : BigInt(cursor);
  const below_seq = below < filter.below_seq ? below : filter.below_seq;
  return { ...filter, below_seq, limit };
}

/** `rows` has one more than the page where there is a next one. */
function pageFrom<Row extends { seq: bigint }>(
  rows: Row[],
  limit: number,
  shown: (row: Row) => unknown,
) {
  const page = rows.slice(0, limit);
  const next_cursor = rows.length > limit ? String(page.at(-1)!.seq) : null;
  return { data: page.map(shown), next_cursor };
}

/** GET /statement/totals?kind=&from=&to=: sums over all that the list has under this filter. */
export async function totals(
  visit: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  const sums = await movementTotals(db, await filterOf(visit, { db }));
  return {
    movements: sums.movements,
    in_usd_micro: String(sums.in_usd_micro),
    out_usd_micro: String(sums.out_usd_micro),
    net_usd_micro: String(sums.in_usd_micro - sums.out_usd_micro),
    charged_usd_micro: String(sums.charged_usd_micro),
  };
}

/** GET /statement/export?format=&kind=&from=&to=: all of it, oldest first, as it is read. */
export async function exportFile(
  visit: Visit,
  reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  const { format = 'csv' } = visit.query as { format?: unknown };
  if (format !== 'csv' && format !== 'json')
    throw badParameter('format', 'must be one of csv, json');
  const filter = await filterOf(visit, { db });
  const pages = readPages({ db }, filter);
  const days = [dayOf(filter.from), dayOf(filter.to)];
  const name = ['farebox-statement', ...filter.kinds, ...days].filter(Boolean);
  reply
    .type(format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/json')
    .header('content-disposition', `attachment; filename="${name.join('-')}.${format}"`);
  if (visit.method === 'HEAD') return reply.send();
  const { account_id } = visit;
  const text = format === 'csv' ? csvText(pages) : jsonText(pages, account_id, filter);
  // Text is made when the reader takes it: a slow one costs no memory, and no connection.
  return reply.send(Readable.from(text, { highWaterMark: 1 }));
}

async function filterOf(visit: Visit, { db }: Pick<WebDeps, 'db'>): Promise<MovementFilter> {
  const query = visit.query as Record<string, unknown>;
  const wanted = optionalText(query, 'kind')?.split(',') ?? [];
  const known = kinds.filter((kind) => wanted.includes(kind));
  if (known.length !== new Set(wanted).size)
    throw badParameter('kind', `must be one or more of ${kinds.join(', ')}, with commas between`);
  const [from, to] = [dateOf(momentOf(query, 'from')), dateOf(momentOf(query, 'to'))];
  const { account_id } = visit;
  const bounds = await seqsBetween(db, account_id, from, to);
  return { account_id, kinds: known, from, to, ...bounds };
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

/** What is booked while this runs has a higher number, and is not in it. */
async function* readPages(
  { db }: Pick<WebDeps, 'db'>,
  filter: MovementFilter,
): AsyncGenerator<Movement[]> {
  let { from_seq } = filter;
  for (;;) {
    const rows = await movementsUpwards(db, { ...filter, from_seq, limit: exportRows });
    if (rows.length > 0) yield rows;
    if (rows.length < exportRows) return;
    from_seq = rows.at(-1)!.seq + 1n;
  }
}

const columns: [name: string, cell: (row: Movement) => Cell][] = [
  ['number', (row) => row.seq],
  ['time_utc', (row) => row.created_at.toISOString()],
  ['kind', (row) => row.kind],
  ['amount_usd', (row) => formatUsd(row.amount_usd_micro)],
  ['change_usd', (row) => formatUsd(row.change_usd_micro)],
  ['available_after_usd', (row) => formatUsd(row.available_after_usd_micro)],
  ['model_id', (row) => row.model_id],
  ['request_id', (row) => row.request_id],
  ['reference', (row) => row.reference],
  ['reason', (row) => row.reason],
  ['transfer_id', (row) => row.id],
];

async function* csvText(pages: AsyncIterable<Movement[]>): AsyncGenerator<string> {
  yield csvLine(columns.map(([name]) => name));
  for await (const rows of pages)
    yield rows.map((row) => csvLine(columns.map(([, cell]) => cell(row)))).join('');
}

async function* jsonText(
  pages: AsyncIterable<Movement[]>,
  account_id: string,
  { kinds: kind, from, to }: MovementFilter,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ account_id, kind, from, to }).slice(0, -1)},"data":[`;
  let between = '\n';
  for await (const rows of pages) {
    yield between + rows.map((row) => JSON.stringify(view(row))).join(',\n');
    between = ',\n';
  }
  yield '\n]}\n';
}

function dayOf(date: Date | null): string | undefined {
  return date?.toISOString().slice(0, 10);
}

function view(row: Movement) {
  const { id: transfer_id, kind, direction, request_id, model_id, reference, reason } = row;
  return {
    transfer_id,
    seq: Number(row.seq),
    kind,
    direction,
    amount_usd_micro: String(row.amount_usd_micro),
    change_usd_micro: String(row.change_usd_micro),
    reserved_usd_micro: row.reserved_usd_micro?.toString() ?? null,
    available_after_usd_micro: String(row.available_after_usd_micro),
    request_id,
    model_id,
    reference,
    reason,
    created_at: row.created_at.toISOString(),
  };
}
