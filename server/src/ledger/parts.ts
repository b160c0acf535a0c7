import { firstId, lastId } from '../lib/id.ts';
import { sql, type Connection } from '../lib/sql/sql.ts';
import { noStretches, type SealName, type Span, type Stretches } from './scope.ts';

/** The parts in which all that is old is proved, and how far they came. */

/** A small history is proved with each audit. */
const leastPart = 20_000;
const leastSeals = 20_000;
const leastHeads = 10;
const hourMs = 3_600_000;
/** So much of the time is planned for a round, because audits may come late. */
const planned = 0.9;

export interface RoundProgress {
  began_at: Date;
  part_at: Date;
  /** Null: no round through all that is old has ended. */
  whole_at: Date | null;
  /** The last seal that was proved. */
  account_id: string;
  last_seq: bigint;
  head: bigint;
  /** The lowest request and account that were not proved. */
  request_id: string;
  counted_id: string;
}

/** Rows in the whole database. */
export interface Totals {
  transfers: bigint;
  accounts: bigint;
  seals: bigint;
  heads: bigint;
}

interface PartPlan {
  now: Date;
  days: number;
  total: Totals;
  /** Requests from this id on are news. */
  requestsTo: string;
  /** Not all news are proved, so the round goes on. */
  isBehind: boolean;
}

/** Rows of one kind, and where the next part of them begins. */
interface Step {
  part: Partial<Stretches>;
  next: Partial<RoundProgress>;
  isEnd: boolean;
}

/** The next part of what is old: its size is the share of the time since the part before. */
export async function nextPart(
  tx: Connection,
  { now, days, total, requestsTo, isBehind }: PartPlan,
): Promise<{ part: Stretches; progress: RoundProgress }> {
  const was = await readProgress(tx, now);
  const sinceMs = Math.min(Math.max(now.getTime() - was.part_at.getTime(), 0), hourMs);
  const share = sinceMs / (days * 24 * hourMs * planned);
  const rowsOf = (all: bigint, least: number) => Math.max(Math.ceil(Number(all) * share), least);
  const transfers = rowsOf(total.transfers, leastPart);
  const steps = [
    await nextSeals(tx, was, { transfers, seals: rowsOf(total.seals, leastSeals) }),
    await nextRequests(tx, was, { requestsTo, rows: rowsOf(total.transfers / 2n, leastPart) }),
    await nextAccounts(tx, was, rowsOf(total.transfers + total.accounts, leastPart)),
    nextHeads(was, total.heads, rowsOf(total.heads, leastHeads)),
  ];
  const isWhole = !isBehind && steps.every(({ isEnd }) => isEnd);
  const part = Object.assign({ ...noStretches }, ...steps.map((step) => step.part)) as Stretches;
  const next = Object.assign({ ...was, part_at: now }, ...steps.map((step) => step.next));
  return { part, progress: isWhole ? { ...atStart(now), whole_at: was.began_at } : next };
}

async function nextSeals(
  tx: Connection,
  was: SealName,
  most: { transfers: number; seals: number },
): Promise<Step> {
  const { spans, isEnd } = await sealedSpans(tx, was, most);
  const last = spans.at(-1);
  if (!last) return { part: {}, next: {}, isEnd };
  const next = { account_id: last.account_id, last_seq: last.upto_seq };
  return { part: { spans, seals: [was, next] }, next, isEnd };
}

async function nextRequests(
  tx: Connection,
  { request_id: from }: RoundProgress,
  { requestsTo, rows }: { requestsTo: string; rows: number },
): Promise<Step> {
  const below = (await idAfter(tx, { from, below: requestsTo, rows })) ?? requestsTo;
  const isEnd = below === requestsTo;
  if (below <= from) return { part: {}, next: {}, isEnd };
  return { part: { requests: [from, below] }, next: { request_id: below }, isEnd };
}

/** The next accounts with about so many transfers, at least one account. */
async function nextAccounts(
  tx: Connection,
  { counted_id: from }: RoundProgress,
  rows: number,
): Promise<Step> {
  // Each account counts once more, because many may have no transfers.
  const [after] = await tx.run<{ account_id: string }>(sql`
    select account_id from (
      select account_id, sum(last_seq + 1) over (order by account_id) - last_seq - 1 as before
      from balances where account_id >= ${from}) b
    where before >= ${rows} order by account_id limit 1`);
  const below = after?.account_id ?? null;
  const next = { counted_id: below ?? lastId };
  return { part: { accounts: [from, below] }, next, isEnd: below === null };
}

function nextHeads({ head: from }: RoundProgress, heads: bigint, rows: number): Step {
  const reached = from + BigInt(rows);
  const to = reached < heads ? reached : heads;
  return {
    part: { heads: from < to ? [from, to] : null },
    next: { head: to },
    isEnd: to === heads,
  };
}

/** The next seals with about so many transfers, as spans between each and the one before. */
async function sealedSpans(
  tx: Connection,
  { account_id, last_seq }: SealName,
  { transfers, seals }: { transfers: number; seals: number },
): Promise<{ spans: Span[]; isEnd: boolean }> {
  const all = await tx.run<Span>(sql`
    select s.account_id, coalesce(p.last_seq, 0) as after_seq,
      coalesce(p.debits_posted, 0) as base_debits, coalesce(p.credits_posted, 0) as base_credits,
      coalesce(p.debits_pending, 0) as base_pending, coalesce(p.debt, 0) as base_debt,
      s.last_seq as upto_seq, s.last_seq as reach, s.debits_posted as debits,
      s.credits_posted as credits, s.debits_pending as pending, s.debt
    from (select * from seals where (account_id, last_seq) > (${account_id}::uuid, ${last_seq})
      order by account_id, last_seq limit ${seals}) s
    left join lateral (select * from seals b where b.account_id = s.account_id
      and b.last_seq < s.last_seq order by b.last_seq desc limit 1) p on true
    order by s.account_id, s.last_seq`);
  let sum = 0;
  const end = all.findIndex(({ after_seq, upto_seq }) => {
    sum += Number(upto_seq - after_seq);
    return sum >= transfers;
  });
  const spans = end < 0 ? all : all.slice(0, end + 1);
  return { spans, isEnd: spans.length === all.length && all.length < seals };
}

interface IdStretch {
  from: string;
  below: string | null;
  rows: number;
}

/** The id of the request with which the next stretch begins; null: there are no more. */
export async function idAfter(
  tx: Connection,
  { from, below, rows }: IdStretch,
): Promise<string | null> {
  const [row] = await tx.run<{ id: string }>(sql`
    select id from requests where id >= ${from} and (${below}::uuid is null or id < ${below}::uuid)
    order by id offset ${rows} limit 1`);
  return row?.id ?? null;
}

function atStart(now: Date): RoundProgress {
  return {
    began_at: now,
    part_at: now,
    whole_at: null,
    account_id: firstId,
    last_seq: 0n,
    head: 0n,
    request_id: firstId,
    counted_id: firstId,
  };
}

async function readProgress(tx: Connection, now: Date): Promise<RoundProgress> {
  const [row] = await tx.run<RoundProgress>(sql`
    select began_at, part_at, whole_at, account_id, last_seq, head, request_id, counted_id
    from audit_progress`);
  return row ?? atStart(now);
}

/** Keeps how far what is old was proved, so that the next audit goes on there. */
export async function keepProgress(tx: Connection, is: RoundProgress): Promise<void> {
  await tx.run(sql`
    insert into audit_progress (began_at, part_at, whole_at, account_id, last_seq, head, request_id,
      counted_id)
    values (${is.began_at}, ${is.part_at}, ${is.whole_at}, ${is.account_id}, ${is.last_seq},
      ${is.head}, ${is.request_id}, ${is.counted_id})
    on conflict (singleton) do update set began_at = excluded.began_at, part_at = excluded.part_at,
      whole_at = excluded.whole_at, account_id = excluded.account_id,
      last_seq = excluded.last_seq, head = excluded.head, request_id = excluded.request_id,
      counted_id = excluded.counted_id`);
}
