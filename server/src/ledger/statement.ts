import type { Source } from '../core/account/source.ts';
import type { Unit } from '../core/catalog/catalog.ts';
import type { Status } from '../core/request/request.ts';
import { arrayLiteral } from '../lib/sql/sql-array.ts';
import { rowsOf } from '../lib/sql/rows-of.ts';
import { rawSql, sql, type Connection, type Statement } from '../lib/sql/sql.ts';
import type { TransferKind } from './ledger.ts';
import { ofRareKinds, type TransferRow } from './transfers.ts';

export interface StatementRow extends Omit<TransferRow, 'account_id'> {
  seq: bigint;
}

/**
 * One page of an account's movements, newest first. `before`: the last `seq` of the previous page.
 */
export function statement(
  db: Connection,
  accountId: string,
  page: { limit: number; before?: bigint | undefined },
): Promise<StatementRow[]> {
  return db.run<StatementRow>(sql`
    select id, seq, kind, amount_usd_micro,
      case when kind = 'release' or credit_account_id = account_id then 'in' else 'out'
        end as direction, available_after_usd_micro,
      case when kind = 'reserve' then id else coalesce(pending_id, refunded_id) end as request_id,
      source, reference, reason, created_at
    from transfers
    where account_id = ${accountId}
      and seq < coalesce(${page.before ?? null}::bigint, 9223372036854775807)
    order by seq desc limit ${page.limit}`);
}

/** A movement as the pages and their files show it. */
export interface Movement extends StatementRow {
  /**
   * Change of the available balance; for a charge, the unused rest of its reservation, which
   * returns.
   */
  change_usd_micro: bigint;
  /** For a charge or release: the amount that was reserved. */
  reserved_usd_micro: bigint | null;
  model_id: string | null;
  /** Set once its receipt was issued. */
  receipt_number: bigint | null;
  /** Set for a deposit from a chain. */
  chain: string | null;
  token: string | null;
  tx_hash: string | null;
}

export interface MovementFilter {
  account_id: string;
  /** Empty: every kind. */
  kinds: readonly TransferKind[];
  /** Range of the account's transfer numbers: `from_seq` is included, `below_seq` is not. */
  from_seq: bigint;
  below_seq: bigint;
  /** Range of times: `from` is included, `to` is not; null: unbounded. */
  from: Date | null;
  to: Date | null;
}

/** `limit`: null for all movements. */
type LimitedFilter = MovementFilter & { limit: number | null };

/** One account's movements, newest first. */
export function movements(db: Connection, filter: LimitedFilter): Promise<Movement[]> {
  return db.run<Movement>(movementsStatement(filter, 'desc'));
}

/** One account's movements, oldest first. */
export function movementsUpwards(db: Connection, filter: LimitedFilter): Promise<Movement[]> {
  return db.run<Movement>(movementsStatement(filter, 'asc'));
}

/** The money of the deposits from one source. */
export interface SourceSum {
  source: Source;
  amount_usd_micro: bigint;
}

/**
 * The deposits of a period by their source, the largest sum first. `from` is included, `to` is not.
 * Without `account_id`, the deposits of all accounts count.
 */
export function depositSums(
  db: Connection,
  deposits: { account_id?: string; from: Date | null; to: Date | null },
): Promise<SourceSum[]> {
  const { account_id, from, to } = deposits;
  const ofAccount = account_id === undefined ? '' : 'and account_id = $3';
  return db.run<SourceSum>(
    rawSql(
      `select source, sum(amount_usd_micro)::bigint as amount_usd_micro from transfers
      where kind = 'deposit' and created_at >= coalesce($1::timestamptz, '-infinity')
        and created_at < coalesce($2::timestamptz, 'infinity') ${ofAccount}
      group by source order by sum(amount_usd_micro) desc, source`,
      [from, to, ...(account_id === undefined ? [] : [account_id])],
    ),
  );
}

function movementsStatement(filter: LimitedFilter, order: 'asc' | 'desc'): Statement {
  const { account_id, kinds, from_seq, below_seq, from, to, limit } = filter;
  const ofRare = ofRareKinds(kinds);
  return rawSql(
    `
    select t.id, t.seq, t.kind, t.amount_usd_micro,
      case when t.kind = 'release' or t.credit_account_id = t.account_id then 'in' else 'out'
        end as direction, t.available_after_usd_micro, t.request_id, t.source, t.reference,
      t.reason, t.created_at, r.amount_usd_micro as reserved_usd_micro, q.model_id,
      case when t.kind = 'charge' then r.amount_usd_micro - t.amount_usd_micro
        when t.kind = 'release' or t.credit_account_id = t.account_id then t.amount_usd_micro
        else -t.amount_usd_micro end as change_usd_micro,
      f.number as receipt_number, c.chain, c.token, c.tx_hash
    from (
      select *, case when kind = 'reserve' then id else coalesce(pending_id, refunded_id) end
        as request_id
      from transfers
      where account_id = $1 and seq >= $2 and seq < $3 ${ofRare}
        and ($4::boolean or kind = any($5::text[]))
        and created_at >= coalesce($7::timestamptz, '-infinity')
        and created_at < coalesce($8::timestamptz, 'infinity')
      order by seq ${order} limit $6
    ) t left join transfers r on r.id = t.pending_id left join requests q on q.id = t.request_id
      left join receipts f on f.transfer_id = t.id and t.kind = 'deposit'
      left join chain_deposits c on c.transfer_id = t.id and t.source = 'chain'
    order by t.seq ${order}`,
    [account_id, from_seq, below_seq, kinds.length === 0, arrayLiteral(kinds), limit, from, to],
  );
}

/**
 * A line of the short statement: a request with its cost, or another transfer, such as a top-up.
 */
export interface StatementLine {
  id: string;
  seq: bigint;
  kind: TransferKind;
  /** Effect on the balance; 0 for an open request. */
  effect_usd_micro: bigint;
  /** All money of the account after this line, including held amounts. */
  balance_usd_micro: bigint;
  /** Held for an open request; null for other lines. */
  held_usd_micro: bigint | null;
  request_id: string | null;
  model_id: string | null;
  status: Status | null;
  unit: Unit | null;
  /** The delivered quantity, or the requested quantity if the delivered one is unknown. */
  quantity: number | null;
  /** Set for a top-up. */
  source: Source | null;
  reference: string | null;
  reason: string | null;
  /** Set for a deposit from a chain. */
  chain: string | null;
  token: string | null;
  tx_hash: string | null;
  created_at: Date;
}

/**
 * One line for each request, refund, top-up, correction, debt and expiry, newest first. A settled
 * request is listed at its settlement, an open one at its reservation. Each balance is the balance
 * of the line below plus the line's own effect.
 */
export function statementLines(
  db: Connection,
  page: Omit<MovementFilter, 'kinds'> & { limit: number },
): Promise<StatementLine[]> {
  const { account_id, from_seq, below_seq, from, to, limit } = page;
  return db.run<StatementLine>(sql`
    with lines as (
      select t.id, t.seq, t.kind, t.amount_usd_micro, t.source, t.reference, t.reason,
        t.created_at,
        case when t.kind = 'reserve' then t.id else coalesce(t.pending_id, t.refunded_id) end
          as request_id,
        case when t.kind in ('reserve', 'release') then 0
          when t.credit_account_id = t.account_id then t.amount_usd_micro
          else -t.amount_usd_micro end as effect
      from transfers t
      where t.account_id = ${account_id} and t.seq >= ${from_seq} and t.seq < ${below_seq}
        and t.created_at >= coalesce(${from}::timestamptz, '-infinity')
        and t.created_at < coalesce(${to}::timestamptz, 'infinity')
        and (t.kind <> 'reserve'
          or not exists (select from transfers s where s.pending_id = t.id))
      order by t.seq desc limit ${limit}
    ), newest as (
      select b.credits_posted - b.debits_posted - coalesce((
        select sum(case when t.credit_account_id = t.account_id then t.amount_usd_micro
            else -t.amount_usd_micro end)
        from transfers t
        where t.account_id = b.account_id and t.seq > (select max(seq) from lines)
          and t.kind in ('deposit', 'adjustment', 'charge', 'debt', 'expiry')
      ), 0) as balance
      from balances b where b.account_id = ${account_id}
    )
    select l.id, l.seq, l.kind, l.effect as effect_usd_micro,
      (n.balance - coalesce(sum(l.effect) over (
        order by l.seq desc rows between unbounded preceding and 1 preceding), 0))::bigint
        as balance_usd_micro,
      case when l.kind = 'reserve' then l.amount_usd_micro end as held_usd_micro,
      l.request_id, q.model_id, q.status, i.quote ->> 'unit' as unit,
      coalesce(o.quantity, (i.quote ->> 'quantity')::float8) as quantity,
      l.source, l.reference, l.reason, l.created_at, c.chain, c.token, c.tx_hash
    from lines l cross join newest n
      left join chain_deposits c on c.transfer_id = l.id and l.source = 'chain'
      left join requests q on q.id = l.request_id
      left join request_inputs i on i.request_id = l.request_id
      left join request_results o on o.request_id = l.request_id
    order by l.seq desc`);
}

/** Maximum by which the clocks of two servers may differ when one takes over from the other. */
const clockSlack = '2 hours';

/**
 * The range of transfer numbers (`seq`) that covers a time span, widened by `clockSlack` on both
 * sides. It is found by bisection: numbers have no gaps and rise with time.
 */
export async function seqsBetween(
  db: Connection,
  accountId: string,
  from: Date | null,
  to: Date | null,
): Promise<{ from_seq: bigint; below_seq: bigint }> {
  const [row] = await db.run<{ from_seq: bigint; below_seq: bigint }>(sql`
    with recursive half as (
      select side, case when side = 'from' then ${from}::timestamptz - ${clockSlack}::interval
          else ${to}::timestamptz + ${clockSlack}::interval end as moment,
        1::bigint as low, b.last_seq + 1 as high
      from balances b, (values ('from'), ('to')) s (side) where b.account_id = ${accountId}
      union all
      select h.side, h.moment,
        case when t.created_at < h.moment then (h.low + h.high) / 2 + 1 else h.low end,
        case when t.created_at < h.moment then h.high else (h.low + h.high) / 2 end
      from half h join transfers t on t.account_id = ${accountId} and t.seq = (h.low + h.high) / 2
      where h.low < h.high and h.moment is not null
    )
    select max(low) filter (where side = 'from') as from_seq,
      coalesce(max(low) filter (where side = 'to' and low >= high),
        max(high) filter (where side = 'to')) as below_seq
    from half`);
  return { from_seq: row?.from_seq ?? 1n, below_seq: row?.below_seq ?? 1n };
}

/**
 * The movements of one request: its reserve, the charge or release that settled it, and refunds.
 */
export function movementsOf(db: Connection, requestId: string): Promise<StatementRow[]> {
  return db.run<StatementRow>(sql`
    select id, seq, kind, amount_usd_micro,
      case when kind = 'release' or credit_account_id = account_id then 'in' else 'out'
        end as direction, available_after_usd_micro,
      ${requestId}::uuid as request_id, source, reference, reason, created_at
    from transfers
    where id = ${requestId} or pending_id = ${requestId} or refunded_id = ${requestId}
    order by seq`);
}

/** An account whose money has moved: its balance now, and the requests that moved it. */
export interface AccountMovement {
  account_id: string;
  last_seq: bigint;
  available_usd_micro: bigint;
  reserved_usd_micro: bigint;
  debt_usd_micro: bigint;
  request_ids: string[];
}

/**
 * The accounts that have movements after the known `seq`, each with the requests of its first
 * `limit` new movements.
 */
export function movedSince(
  db: Connection,
  known: { account_id: string; seq: bigint }[],
  limit: number,
): Promise<AccountMovement[]> {
  return db.run<AccountMovement>(sql`
    select b.account_id, b.last_seq,
      b.credits_posted - b.debits_posted - b.debits_pending as available_usd_micro,
      b.debits_pending as reserved_usd_micro, b.debt as debt_usd_micro,
      array(select coalesce(t.pending_id, t.refunded_id, t.id) from transfers t
        where t.account_id = b.account_id and t.seq > d.seq
        order by t.seq limit ${limit}::int) as request_ids
    from ${rowsOf(known, { account_id: 'uuid', seq: 'bigint' })} as d
    join balances b on b.account_id = d.account_id and b.last_seq > d.seq`);
}

/** Sums over all accounts. */
interface Holdings {
  /** Money that customers can spend, which the operator owes them. */
  available_usd_micro: bigint;
  reserved_usd_micro: bigint;
  /** Money that customers owe the operator. */
  debt_usd_micro: bigint;
}

export async function holdings(db: Connection): Promise<Holdings> {
  const [row] = await db.run<Holdings>(sql`
    select coalesce(sum(credits_posted - debits_posted - debits_pending), 0)::bigint
        as available_usd_micro,
      coalesce(sum(debits_pending), 0)::bigint as reserved_usd_micro,
      coalesce(sum(debt), 0)::bigint as debt_usd_micro
    from balances`);
  return row!;
}
