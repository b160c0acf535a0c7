import { scanMax } from '../../db/requests/request-pages.ts';
import { transferPage, type TransferRow } from '../../ledger/transfers.ts';
import { movements, seqsBetween, type Movement } from '../../ledger/statement.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { isUuid } from '../../lib/id.ts';
import { requireKinds, MovementKind } from '../dashboard/statement.ts';
import { SourceName } from '../schemas/account.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { badField } from '../schemas/validate.ts';
import { operatorEndpoint } from '../endpoint.ts';

const Transfer = s.namedObject('Transfer', {
  transfer_id: s.id(),
  account_id: s.id(),
  kind: MovementKind,
  direction: s.choice(['in', 'out'], '`in`: more is available afterwards.'),
  amount_usd_micro: s.microUsd(),
  available_after_usd_micro: s.microUsd(),
  request_id: s.nullable(s.id('For a reserve, a charge, a release and a refund.')),
  source: s.nullable(SourceName),
  reference: s.nullable(s.text('For a deposit and an adjustment.')),
  reason: s.nullable(s.text('For an adjustment.')),
  created_at: s.time(),
});

const Query = s.form({
  account_id: s.optional(s.text('Only of this account.')),
  kind: s.optional(
    s.text(
      'One or more of `deposit`, `adjustment`, `reserve`, `charge`, `release`, `debt` and ' +
        '`expiry`, with commas between.',
    ),
  ),
  from: s.optional(s.moment('Booked at this time or later.')),
  to: s.optional(s.moment('Booked before this time.')),
  limit: s.pageQuery(50).limit,
  cursor: s.optional(
    s.text('The `next_cursor` of the page before.', { maxLength: 36, rule: s.cursorRule }),
  ),
});

/** GET /operator/transfers: newest first, of all accounts or of one. */
export const list = operatorEndpoint(
  { query: Query, reply: s.pageOf(Transfer) },
  ({ query }, { db }) =>
    query.account_id === undefined ? ofAll(query, db) : ofAccount(query.account_id, query, db),
);

type TransferQuery = s.Static<typeof Query>;

async function ofAll(query: TransferQuery, db: Database) {
  const { cursor = null, limit } = query;
  if (cursor !== null && !isUuid(cursor)) throw badField('cursor', s.cursorRule);
  const bounds = { below_id: cursor, limit, look: scanMax };
  const { rows, next } = await transferPage(db, filterOf(query), bounds);
  return { data: rows.map(view), next_cursor: next };
}

/** Movements of one account are numbered without gaps, so its pages go by their numbers. */
async function ofAccount(account: string, query: TransferQuery, db: Database) {
  const { cursor, limit } = query;
  if (cursor !== undefined && !/^[1-9]\d{0,17}$/.test(cursor))
    throw badField('cursor', s.cursorRule);
  const account_id = requireId(account);
  const filter = { account_id, ...filterOf(query) };
  const { from_seq, below_seq: end } = await seqsBetween(db, account_id, filter.from, filter.to);
  const below_seq = cursor !== undefined && BigInt(cursor) < end ? BigInt(cursor) : end;
  const rows = await movements(db, { ...filter, from_seq, below_seq, limit: limit + 1 });
  const shown = (row: Movement) => view({ ...row, account_id });
  return pageFrom(rows, query, shown, ({ seq }) => String(seq));
}

function filterOf({ kind, from, to }: TransferQuery) {
  return {
    kinds: requireKinds(kind),
    from: from === undefined ? null : new Date(from),
    to: to === undefined ? null : new Date(to),
  };
}

function view({ id: transfer_id, ...row }: TransferRow) {
  return { transfer_id, ...row };
}
