import { Readable } from 'node:stream';
import { hasReceipt, receiptNumber } from '../../core/account/receipt.ts';
import { formatUsd } from '../../core/price/money.ts';
import {
  movements,
  movementsUpwards,
  seqsBetween,
  statementLines,
  type Movement as MovementRow,
  type MovementFilter,
  type StatementLine as LineRow,
} from '../../ledger/statement.ts';
import { movementTotals } from '../../ledger/transfer-sums.ts';
import { csvLine, type Cell } from '../../lib/csv.ts';
import { rollUpTransfers } from '../../operations/accounts/roll-up.ts';
import { issueReceipts } from '../../operations/accounts/receipt.ts';
import { UnitName } from '../api/model-schema.ts';
import { StatusName } from '../requests/schema.ts';
import { runSum } from '../database-share.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { serialize } from '../schemas/serialize.ts';
import { sessionEndpoint } from '../endpoint.ts';
import type { WebDeps } from '../session/session-request.ts';
import { badField } from '../schemas/validate.ts';
import { ChainTransaction, issuerOf, transactionOf } from './receipts.ts';
import { SourceName, SourceSum } from '../schemas/account.ts';

/** Every movement of an account's money: on pages, and as a file. */

const kinds = ['deposit', 'adjustment', 'reserve', 'charge', 'release', 'debt', 'expiry'] as const;
/** Rows that an export reads at a time; between two reads other calls can run. */
const exportRows = 1000;

export const MovementKind = s.named('MovementKind', s.choice(kinds));

const Movement = s.namedObject('Movement', {
  transfer_id: s.id(),
  seq: s.integer(),
  kind: MovementKind,
  direction: s.choice(['in', 'out']),
  amount_usd_micro: s.microUsd(),
  change_usd_micro: s.signedMicroUsd('Change of the available balance.'),
  reserved_usd_micro: s.nullable(
    s.microUsd('For a charge or release: the amount that was reserved.'),
  ),
  available_after_usd_micro: s.signedMicroUsd(),
  request_id: s.nullable(s.id()),
  model_id: s.nullable(s.text()),
  source: s.nullable(SourceName),
  reference: s.nullable(s.text()),
  reason: s.nullable(s.text()),
  has_receipt: s.boolean('Whether `/receipts/{transfer_id}` exists.'),
  receipt: s.nullable(
    s.text(
      "The receipt's number, once it was issued. An export issues the receipts of all its rows.",
    ),
  ),
  transaction: s.nullable(ChainTransaction),
  created_at: s.time(),
});

const StatementLine = s.namedObject(
  'StatementLine',

  {
    id: s.id(),
    seq: s.integer(),
    kind: MovementKind,
    effect_usd_micro: s.signedMicroUsd('The change of the balance.'),
    balance_usd_micro: s.signedMicroUsd('Reserved amounts included.'),
    held_usd_micro: s.nullable(s.microUsd('The amount reserved for an open request.')),
    request_id: s.nullable(s.id()),
    model_id: s.nullable(s.text()),
    model_name: s.nullable(s.text()),
    status: s.nullable(StatusName),
    unit: s.nullable(UnitName),
    quantity: s.nullable(
      s.number(
        'The delivered quantity, or the requested one while the delivered one is not known.',
      ),
    ),
    source: s.nullable(SourceName),
    reference: s.nullable(s.text()),
    reason: s.nullable(s.text()),
    has_receipt: s.boolean('Whether `/receipts/{id}` exists.'),
    transaction: s.nullable(ChainTransaction),
    created_at: s.time(),
  },
  { description: 'A top-up, a correction, or a request with its cost.' },
);

const Filter = s.form({
  kind: s.optional(s.text(`One or more of ${kinds.join(', ')}, with commas between.`)),
  from: s.optional(s.moment()),
  to: s.optional(s.moment()),
});

const PageFilter = s.form({
  ...Filter.properties,
  limit: s.pageQuery(20).limit,
  cursor: s.optional(s.text(undefined, { pattern: '^[1-9]\\d{0,17}$', rule: s.cursorRule })),
});

/** GET /statement: newest first. */
export const list = sessionEndpoint(
  { query: PageFilter, reply: s.pageOf(Movement) },
  async ({ req, query }, deps) => {
    const page = await pageFilterOf(req.account_id, query, deps);
    return pageFrom(await movements(deps.db, page), query, (row) => view(row, deps), cursorOf);
  },
);

/** GET /statement/lines: one line for each top-up, correction and request, newest first. */
export const lines = sessionEndpoint(
  { query: PageFilter, reply: s.pageOf(StatementLine) },
  async ({ req, query }, deps) => {
    const page = await pageFilterOf(req.account_id, query, deps);
    const { models } = deps.catalog();
    const nameOf = (model_id: string) => models.get(model_id)?.name ?? model_id;
    return pageFrom(
      await statementLines(deps.db, page),
      query,
      (row) => ({ ...about(row, deps), model_name: row.model_id && nameOf(row.model_id) }),
      cursorOf,
    );
  },
);

/** The filter of a page; it reads one row more than the page shows. */
async function pageFilterOf(
  account_id: string,
  query: s.Static<typeof PageFilter>,
  { db }: Pick<WebDeps, 'db'>,
) {
  const filter = await filterOf(account_id, query, { db });
  const below = query.cursor === undefined ? filter.below_seq : BigInt(query.cursor);
  const below_seq = below < filter.below_seq ? below : filter.below_seq;
  return { ...filter, below_seq, limit: query.limit + 1 };
}

function cursorOf({ seq }: { seq: bigint }): string {
  return String(seq);
}

/** GET /statement/totals: sums over all movements that match this filter. */
export const totals = sessionEndpoint(
  {
    query: Filter,
    reply: s.namedObject('StatementTotals', {
      movements: s.integer(),
      in_usd_micro: s.microUsd(),
      out_usd_micro: s.microUsd(),
      net_usd_micro: s.signedMicroUsd(),
      charged_usd_micro: s.microUsd(),
      by_source: s.list(SourceSum, 'The deposits.'),
    }),
  },
  async ({ req, reply, query }, deps) => {
    const { account_id } = req;
    const sums = await runSum(req, reply, deps, async () => {
      await rollUpTransfers(deps.db, account_id, deps.settings.times.usageSumMs);
      return movementTotals(deps.db, await filterOf(account_id, query, deps));
    });
    return { ...sums, net_usd_micro: sums.in_usd_micro - sums.out_usd_micro };
  },
);

/** GET /statement/export: all movements that match, oldest first, sent while they are read. */
export const exportFile = sessionEndpoint(
  { query: s.form({ format: s.optional(s.choice(['csv', 'json'])), ...Filter.properties }) },
  async ({ req, reply, query }, deps) => {
    const { account_id } = req;
    const { format = 'csv' } = query;
    const filter = await filterOf(account_id, query, deps);
    const pages = readPages(deps, filter);
    const days = [dayOf(filter.from), dayOf(filter.to)];
    const name = ['farebox-statement', ...filter.kinds, ...days].filter(Boolean);
    reply
      .type(format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/json')
      .header('content-disposition', `attachment; filename="${name.join('-')}.${format}"`);
    if (req.method === 'HEAD') return reply.send();
    const text = format === 'csv' ? csvText(pages, deps) : jsonText(pages, filter, deps);
    // Text is made only when the reader takes it, so a slow reader holds no memory and no database
    // connection.
    return reply.send(Readable.from(text, { highWaterMark: 1 }));
  },
);

async function filterOf(
  account_id: string,
  query: s.Static<typeof Filter>,
  { db }: Pick<WebDeps, 'db'>,
): Promise<MovementFilter> {
  const known = requireKinds(query.kind);
  const from = query.from === undefined ? null : new Date(query.from);
  const to = query.to === undefined ? null : new Date(query.to);
  const bounds = await seqsBetween(db, account_id, from, to);
  return { account_id, kinds: known, from, to, ...bounds };
}

/** The kinds in a comma-separated list; none if no list is given. Throws `bad_request`. */
export function requireKinds(given: string | undefined): MovementFilter['kinds'] {
  const wanted = given?.split(',') ?? [];
  const known = kinds.filter((kind) => wanted.includes(kind));
  if (known.length === new Set(wanted).size) return known;
  throw badField('kind', `one or more of ${kinds.join(', ')}, with commas between`, {
    one_of: kinds,
  });
}

/**
 * A transfer booked while this runs has a higher number and is left out. Deposits that have no
 * receipt yet get one.
 */
async function* readPages(deps: WebDeps, filter: MovementFilter): AsyncGenerator<MovementRow[]> {
  const { account_id } = filter;
  let { from_seq } = filter;
  for (;;) {
    const rows = await movementsUpwards(deps.db, { ...filter, from_seq, limit: exportRows });
    const paid = rows.filter(({ source }) => hasReceipt(source)).map(({ id }) => id);
    const numbers = await issueReceipts(deps.db, account_id, paid, issuerOf(deps));
    if (rows.length > 0)
      yield rows.map((row) => ({ ...row, receipt_number: numbers.get(row.id) ?? null }));
    if (rows.length < exportRows) return;
    from_seq = rows.at(-1)!.seq + 1n;
  }
}

const columns: [name: string, cell: (row: MovementRow, deps: WebDeps) => Cell][] = [
  ['number', (row) => row.seq],
  ['time_utc', (row) => row.created_at.toISOString()],
  ['kind', (row) => row.kind],
  ['source', (row) => row.source],
  ['amount_usd', (row) => formatUsd(row.amount_usd_micro)],
  ['change_usd', (row) => formatUsd(row.change_usd_micro)],
  ['available_after_usd', (row) => formatUsd(row.available_after_usd_micro)],
  ['model_id', (row) => row.model_id],
  ['request_id', (row) => row.request_id],
  ['reference', (row) => row.reference],
  ['reason', (row) => row.reason],
  ['receipt', (row) => row.receipt_number && receiptNumber(row.receipt_number)],
  ['chain', (row) => row.chain],
  ['tx_hash', (row, deps) => transactionOf(row, deps)?.tx_hash ?? null],
  ['transfer_id', (row) => row.id],
];

async function* csvText(
  pages: AsyncIterable<MovementRow[]>,
  deps: WebDeps,
): AsyncGenerator<string> {
  yield csvLine(columns.map(([name]) => name));
  for await (const rows of pages)
    yield rows.map((row) => csvLine(columns.map(([, cell]) => cell(row, deps)))).join('');
}

async function* jsonText(
  pages: AsyncIterable<MovementRow[]>,
  { account_id, kinds: kind, from, to }: MovementFilter,
  deps: WebDeps,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ account_id, kind, from, to }).slice(0, -1)},"data":[`;
  let between = '\n';
  for await (const rows of pages) {
    yield between + rows.map((row) => serialize(Movement, view(row, deps))).join(',\n');
    between = ',\n';
  }
  yield '\n]}\n';
}

function dayOf(date: Date | null): string | undefined {
  return date?.toISOString().slice(0, 10);
}

function view(row: MovementRow, deps: WebDeps) {
  const { id: transfer_id, receipt_number: number } = row;
  return { ...about(row, deps), transfer_id, receipt: number && receiptNumber(number) };
}

/** A row with its transaction, and whether it has a receipt. */
function about<Row extends MovementRow | LineRow>(row: Row, deps: WebDeps) {
  const transaction = transactionOf(row, deps);
  return { ...row, has_receipt: hasReceipt(row.source), transaction };
}
