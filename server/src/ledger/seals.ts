import { rawSql, sql, type Connection } from '../lib/sql/sql.ts';
import { accountsIn, type Law } from './law.ts';
import { noStretches, scopeOf, type Span } from './scope.ts';

/**
 * Seals. Each says what the books said of an account up to one of its transfers: the sums, and a
 * hash over the transfers since its seal before. The hash of a head covers all seals that were made
 * with it, and the head before. So the newest hash, kept elsewhere, proves all history below it.
 */

export interface Head {
  /** As it is printed, and as `--since` reads it: number and hash. */
  head: string;
  number: bigint;
  /** The day (UTC) that was over, YYYY-MM-DD. */
  day: string;
  seals: number;
  transfers: number;
  sealed_at: Date;
}

interface HeadName {
  number: bigint;
  /** Hex. */
  hash: string;
}

/** Null: it is not a head. */
export function readHead(given: string): HeadName | null {
  const [, number, hash] = /^([1-9]\d{0,17})-([0-9a-f]{64})$/.exec(given.trim()) ?? [];
  return number && hash ? { number: BigInt(number), hash } : null;
}

const shownMax = 20;

const microseconds = (time: string) => `(extract(epoch from ${time}) * 1000000)::bigint`;
const text = (...values: string[]) => `convert_to(concat_ws(' ', ${values.join(', ')}), 'UTF8')`;
const orNone = (column: string) => `coalesce(${column}::text, '-')`;
const quoted = (column: string) => `coalesce(to_json(${column})::text, '-')`;

/**
 * All that a transfer says, in the same bytes on every server. A column that is added later goes to
 * the end and only if it is not null, so that old seals stay true.
 */
const transferText = text(
  't.id',
  't.account_id',
  't.seq',
  't.kind',
  't.debit_account_id',
  't.credit_account_id',
  't.amount_usd_micro',
  't.available_after_usd_micro',
  ...['t.pending_id', 't.key_id', 't.source', 't.refunded_id'].map(orNone),
  ...['t.reference', 't.reason'].map(quoted),
  microseconds('t.created_at'),
);
/** The digest of the transfers `t`, each as its own hash, because texts of many are too long. */
const digest = `coalesce(string_agg(sha256(${transferText}), ''::bytea order by t.seq), '')`;

const sums = ['debits_posted', 'credits_posted', 'debits_pending', 'debt'] as const;

/** The hash of the seal `s` after the seal `p`, with the digest in `t`. */
const sealHash = `sha256(coalesce(p.hash, '') || ${text(
  's.account_id',
  's.last_seq',
  ...sums.map((sum) => `s.${sum}`),
)} || t.digest)`;

/** The hash of the head `h` after the head `p`, with the digest of its seals in `s`. */
const headHash = `sha256(coalesce(p.hash, '') || ${text(
  'h.number',
  `to_char(h.day, 'YYYY-MM-DD')`,
  'h.seals',
  'h.transfers',
  'h.requests_to',
)} || s.digest)`;

/** The seal of the same account before the seal `s`. */
const sealBefore = `left join lateral (select * from seals b where b.account_id = s.account_id
    and b.last_seq < s.last_seq order by b.last_seq desc limit 1) p on true`;

/** Below the first number, so that a transfer with the number 0 belongs to the first seal. */
const leastSeq = `'-9223372036854775808'::bigint`;

const wrongSeals = (condition: string) => `
  select 'transfers do not fit their seal' as what, s.head, s.account_id,
    coalesce(p.last_seq, 0) + 1 as first_seq, s.last_seq, t.count as transfers
  from seals s ${sealBefore}
  cross join lateral (select count(*), ${digest} as digest from transfers t
    where t.account_id = s.account_id and t.seq > coalesce(p.last_seq, ${leastSeq})
      and t.seq <= s.last_seq) t
  where ${condition} and (s.hash is distinct from ${sealHash}
    or not exists (select from seal_heads h where h.number = s.head))`;

const wrongHeads = (condition: string) => `
  select 'seals do not fit their head' as what, h.number as head, null::uuid as account_id,
    null::bigint as first_seq, null::bigint as last_seq, s.count as transfers
  from seal_heads h left join seal_heads p on p.number = h.number - 1
  cross join lateral (select count(*), coalesce(string_agg(hash, ''::bytea
    order by account_id, last_seq), '') as digest from seals where head = h.number) s
  where ${condition} and (h.hash is distinct from ${headHash}
    or p.number is null and h.number > 1)`;

export const sealLaw: Law = {
  name: 'seals_stand',
  by: 'seals',
  says: 'the transfers below each seal are those that were sealed, the seals below each head are those that were made with it, and each account with a seal has its balance',
  broken: ({ seals, heads }) => `
    ${wrongSeals(seals)}
    union all ${wrongHeads(heads)}
    union all select 'a sealed account is gone', null, account_id, null, null, null
    from (${accountsIn('seals')}) k
    where not exists (select from balances b where b.account_id = k.account_id)`,
};

/** The newest head, or null. */
export async function newestHead(db: Connection): Promise<Head | null> {
  const [head] = await db.run<Head>(sql`
    select number || '-' || encode(hash, 'hex') as head, number,
      to_char(day, 'YYYY-MM-DD') as day, seals, transfers::float8 as transfers,
      created_at as sealed_at
    from seal_heads order by number desc limit 1`);
  return head ?? null;
}

/** How far was sealed, whether a day has ended since, and whether the clock has gone back. */
export async function sealedTo(db: Connection) {
  const [state] = await db.run<{
    number: bigint | null;
    requests_to: string | null;
    is_due: boolean;
    is_ahead: boolean;
  }>(sql`
    select h.number, h.requests_to,
      -- Any other day: after a clock that ran ahead, waiting for its day would take too long.
      (coalesce(d.created_at, m.applied_at) at time zone 'utc')::date
        <> (now() at time zone 'utc')::date as is_due,
      coalesce(h.created_at > now() + interval '1 hour', false) as is_ahead
    from (select min(applied_at) as applied_at from migrations where name like '%_seals.sql') m
    left join (select * from seal_heads order by number desc limit 1) h on true
    -- The newest head that was made because a day was over, not early.
    left join (select created_at from seal_heads where day < (created_at at time zone 'utc')::date
      order by number desc limit 1) d on true`);
  return state!;
}

interface NewSeals {
  /** Each with transfers, and proved in the same transaction. */
  spans: Span[];
  /** Requests with lower ids were proved. */
  requestsTo: string;
  /** False: the seals are made early, and do not cover a whole day. */
  isDayOver: boolean;
}

/** Seals these spans under a new head, in the transaction that proved them. */
export async function seal(tx: Connection, { spans, requestsTo, isDayOver }: NewSeals) {
  await tx.run(
    rawSql(
      `with summed as (${sumsOf(spans)}),
      made as (
        select s.account_id, s.last_seq, ${listed('s')}, s.transfers, ${sealHash} as hash
        from summed s cross join lateral (select s.digest) t left join seals p
          on p.account_id = s.account_id and p.last_seq = s.after_seq),
      h as (
        select (select coalesce(max(number), 0) + 1 from seal_heads) as number,
          (now() at time zone 'utc')::date - $2::int as day, $1::uuid as requests_to,
          count(*)::int as seals, sum(transfers)::bigint as transfers, now() as created_at,
          string_agg(hash, ''::bytea order by account_id, last_seq) as digest
        from made),
      kept as (
        insert into seal_heads (number, day, seals, transfers, requests_to, created_at, hash)
        select h.number, h.day, h.seals, h.transfers, h.requests_to, h.created_at, ${headHash}
        from h cross join lateral (select h.digest) s
          left join seal_heads p on p.number = h.number - 1)
      insert into seals (account_id, last_seq, head, ${sums.join(', ')}, hash)
      select m.account_id, m.last_seq, h.number, ${listed('m')}, m.hash from made m cross join h`,
      [requestsTo, isDayOver ? 1 : 0],
    ),
  );
  return (await newestHead(tx))!;
}

const listed = (row: string) => sums.map((sum) => `${row}.${sum}`).join(', ');

/** The sums and the digest of each span. */
function sumsOf(spans: Span[]): string {
  const { spans: rows, transfers } = scopeOf({ ...noStretches, spans });
  const sumOf = (kinds: string, side: string) =>
    `coalesce(sum(t.amount_usd_micro) filter (where t.kind in (${kinds})
      and t.${side}_account_id = t.account_id), 0)`;
  return `
    select s.account_id, s.upto_seq as last_seq, s.after_seq,
      s.base_debits + ${sumOf(`'charge', 'adjustment', 'debt', 'expiry'`, 'debit')}
        as debits_posted,
      s.base_credits + ${sumOf(`'deposit', 'adjustment', 'debt'`, 'credit')} as credits_posted,
      s.base_pending + sum(case when t.kind = 'reserve' then t.amount_usd_micro
        when r.kind = 'reserve' then -r.amount_usd_micro else 0 end) as debits_pending,
      s.base_debt + ${sumOf(`'debt'`, 'credit')} - ${sumOf(`'debt'`, 'debit')} as debt,
      count(*) as transfers, ${digest} as digest
    from (${rows}) s ${transfers}
    group by s.account_id, s.upto_seq, s.after_seq, s.base_debits, s.base_credits, s.base_pending,
      s.base_debt`;
}

/**
 * The rows that show that history below this head was changed since the head was printed. Reads
 * all transfers that it covers.
 */
export async function changedSince(
  db: Connection,
  { number, hash }: HeadName,
): Promise<{ isKnown: boolean; found: Record<string, unknown>[] }> {
  const [row] = await db.run<{ is_same: boolean }>(sql`
    select hash = decode(${hash}, 'hex') as is_same from seal_heads where number = ${number}`);
  const found = await db.run(
    rawSql(
      `select * from (${wrongHeads(`h.number <= ${number}`)}
        union all ${wrongSeals(`s.head <= ${number}`)}) broken limit ${shownMax}`,
    ),
  );
  return { isKnown: row?.is_same ?? false, found: found.map((each) => ({ ...each })) };
}
