import { firstId, idsWritten } from '../lib/id.ts';
import { sql, type Connection } from '../lib/sql/sql.ts';
import { idAfter, nextPart, type RoundProgress, type Totals } from './parts.ts';
import { sealedTo } from './seals.ts';
import { openEnd, type Span, type Stretches } from './scope.ts';

/**
 * An audit reads all that is new since the last seals, and a part of what is old. The parts of a
 * day cover all that is old.
 */

/** More new transfers than this are sealed before the day is over, so that no audit takes long. */
const newMax = 100_000n;
const newRequestsMax = 100_000;
const hourMs = 3_600_000;

export interface Round {
  news: Stretches;
  part: Stretches;
  /** The news were too many: an audit should follow soon. */
  isBehind: boolean;
  /** The news are to be sealed: a day is over, or they were too many. */
  wantsSeal: boolean;
  /** A day is over, and all that is new was read: the seals cover all of that day. */
  isDayOver: boolean;
  /** The newest seals are of a time that has not come yet. */
  isAhead: boolean;
  /** Seals that are made now say that requests with lower ids were proved. */
  requestsTo: string;
  /** How far what is old is proved with this part. */
  progress: RoundProgress;
}

/** Plans the next audit; all history is to be proved within `days`. */
export async function nextStretches(tx: Connection, days: number): Promise<Round> {
  const sealed = await sealedTo(tx);
  const { now, ...total } = await totals(tx);
  const { spans, isCut } = cut(await newSpans(tx));
  const from = sealed.requests_to ?? firstId;
  const below = await idAfter(tx, { from, below: null, rows: newRequestsMax });
  const isBehind = isCut || below !== null;
  const plan = { now, days, total, requestsTo: from, isBehind };
  const { part, progress } = await nextPart(tx, plan);
  const isDayOver = sealed.is_due && !isBehind;
  return {
    news: { spans, requests: [from, below], accounts: null, seals: null, heads: null },
    part,
    isBehind,
    wantsSeal: isBehind || isDayOver,
    isDayOver,
    isAhead: sealed.is_ahead,
    requestsTo: below ?? (await firstUnsure(tx, from, now)),
    progress,
  };
}

async function totals(tx: Connection): Promise<Totals & { now: Date }> {
  const [row] = await tx.run<Totals & { now: Date }>(sql`
    select now() as now, b.transfers, b.accounts, h.seals, h.heads
    from (select coalesce(sum(last_seq), 0)::bigint as transfers, count(*) as accounts
        from balances) b
      cross join (select coalesce(sum(seals), 0)::bigint as seals,
        coalesce(max(number), 0) as heads from seal_heads) h`);
  return row!;
}

/**
 * The new transfers of each account, and balances that differ from the newest seal; one more than
 * an audit reads.
 */
function newSpans(tx: Connection): Promise<Span[]> {
  return tx.run<Span>(sql`
    select b.account_id, coalesce(s.last_seq, 0) as after_seq,
      coalesce(s.debits_posted, 0) as base_debits, coalesce(s.credits_posted, 0) as base_credits,
      coalesce(s.debits_pending, 0) as base_pending, coalesce(s.debt, 0) as base_debt,
      b.last_seq as upto_seq, ${openEnd}::bigint as reach, b.debits_posted as debits,
      b.credits_posted as credits, b.debits_pending as pending, b.debt
    from balances b left join lateral (select * from seals s where s.account_id = b.account_id
      order by s.last_seq desc limit 1) s on true
    where (b.last_seq, b.debits_posted, b.credits_posted, b.debits_pending, b.debt) <>
      (coalesce(s.last_seq, 0), coalesce(s.debits_posted, 0), coalesce(s.credits_posted, 0),
        coalesce(s.debits_pending, 0), coalesce(s.debt, 0))
      or exists (select from transfers t
        where t.account_id = b.account_id and t.seq > b.last_seq)
    order by b.account_id limit ${newMax + 1n}`);
}

/** As many of the new transfers as one audit may read; of the last account perhaps a part. */
function cut(all: Span[]): { spans: Span[]; isCut: boolean } {
  const spans: Span[] = [];
  let left = newMax;
  for (const span of all) {
    const length = span.upto_seq - span.after_seq;
    if (left <= 0n) return { spans, isCut: true };
    if (length > left) {
      const upto_seq = span.after_seq + left;
      const unknown = { debits: null, credits: null, pending: null, debt: null };
      return { spans: [...spans, { ...span, ...unknown, upto_seq, reach: upto_seq }], isCut: true };
    }
    spans.push(span);
    left -= length > 0n ? length : 0n;
  }
  return { spans, isCut: all.length > newMax };
}

/** Requests from this id on may still change, or come late. */
async function firstUnsure(tx: Connection, from: string, now: Date): Promise<string> {
  const [open] = await tx.run<{ id: string }>(sql`
    select q.id from balances b join requests q
      on q.account_id = b.account_id and q.status in ('IN_QUEUE', 'IN_PROGRESS')
    order by q.id limit 1`);
  const [newest] = await tx.run<{ id: string }>(sql`
    select id from requests order by id desc limit 1`);
  const late = idsWritten(now.getTime() - hourMs, null).first;
  // The newest, because the clock may run ahead: later requests would never be new.
  const [first] = [late, ...(open ? [open.id] : []), newest?.id ?? from].toSorted();
  return first! > from ? first! : from;
}
