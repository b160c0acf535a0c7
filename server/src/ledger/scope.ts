/** The rows over which a law is proved, as SQL text of values from the database. */

/** Transfers of an account, and the sums before and after them. */
export interface Span {
  account_id: string;
  /** Transfers with higher numbers belong to it. */
  after_seq: bigint;
  base_debits: bigint;
  base_credits: bigint;
  base_pending: bigint;
  base_debt: bigint;
  /** The number that its last transfer must have. */
  upto_seq: bigint;
  /** Transfers with higher numbers are not read. */
  reach: bigint;
  /** The sums after its last transfer; null: not known. */
  debits: bigint | null;
  credits: bigint | null;
  pending: bigint | null;
  debt: bigint | null;
}

export interface LawScope {
  /** The subquery of the spans. */
  spans: string;
  /** Joins the transfers `t` of each span `s`, and the reserve `r` that each of them settles. */
  transfers: string;
  /** A condition on the id of a request. */
  ids(column: string): string;
  /** A condition on the id of an account. */
  accounts(column: string): string;
  /** A condition on a seal `s`. */
  seals: string;
  /** A condition on a head `h`. */
  heads: string;
}

/** Higher than any number of a transfer. */
export const openEnd = 1_000_000_000_000_000_000n;

export const wholeScope: LawScope = {
  spans: `
    select account_id, 0::bigint as after_seq, 0::bigint as base_debits, 0::bigint as base_credits,
      0::bigint as base_pending, 0::bigint as base_debt, last_seq as upto_seq,
      ${openEnd}::bigint as reach, debits_posted as debits, credits_posted as credits,
      debits_pending as pending, debt
    from balances`,
  transfers: `
    join transfers t on t.account_id = s.account_id
    left join transfers r on r.id = t.pending_id`,
  ids: () => 'true',
  accounts: () => 'true',
  seals: 'true',
  heads: 'true',
};

/** Stretches of rows; null: none. */
export interface Stretches {
  spans: Span[];
  /** From the first id, below the second (null: without an end). */
  requests: [string, string | null] | null;
  accounts: [string, string | null] | null;
  /** Seals after the first one, up to the second one. */
  seals: [SealName, SealName] | null;
  /** Heads above the first number, up to the second one. */
  heads: [bigint, bigint] | null;
}

export const noStretches: Stretches = {
  spans: [],
  requests: null,
  accounts: null,
  seals: null,
  heads: null,
};

export interface SealName {
  account_id: string;
  last_seq: bigint;
}

/**
 * A part of all rows. `offset 0` keeps the planner from reading whole tables for it: each span is
 * found by its index.
 */
export function scopeOf({ spans, requests, accounts, seals, heads }: Stretches): LawScope {
  return {
    spans: rowsOf(spans),
    transfers: `
      cross join lateral (select * from transfers t where t.account_id = s.account_id
        and t.seq > s.after_seq and t.seq <= s.reach offset 0) t
      left join lateral (select kind, amount_usd_micro, account_id from transfers r
        where r.id = t.pending_id offset 0) r on true`,
    ids: (column) => within(column, requests),
    accounts: (column) => within(column, accounts),
    seals: seals
      ? `(s.account_id, s.last_seq) > ${nameOf(seals[0])}
        and (s.account_id, s.last_seq) <= ${nameOf(seals[1])}`
      : 'false',
    heads: heads ? `h.number > ${heads[0]} and h.number <= ${heads[1]}` : 'false',
  };
}

const columns: [keyof Span, 'uuid' | 'bigint'][] = [
  ['account_id', 'uuid'],
  ['after_seq', 'bigint'],
  ['base_debits', 'bigint'],
  ['base_credits', 'bigint'],
  ['base_pending', 'bigint'],
  ['base_debt', 'bigint'],
  ['upto_seq', 'bigint'],
  ['reach', 'bigint'],
  ['debits', 'bigint'],
  ['credits', 'bigint'],
  ['pending', 'bigint'],
  ['debt', 'bigint'],
];

function rowsOf(spans: Span[]): string {
  const arrays = columns.map(([name, type]) => arrayOf(spans, name, type));
  const names = columns.map(([name]) => name);
  return `select * from unnest(${arrays.join()}) as span (${names.join()})`;
}

function arrayOf(spans: Span[], name: keyof Span, type: string): string {
  return `'{${spans.map((span) => span[name] ?? 'null').join()}}'::${type}[]`;
}

function nameOf({ account_id, last_seq }: SealName): string {
  return `('${account_id}'::uuid, ${last_seq}::bigint)`;
}

function within(column: string, stretch: [string, string | null] | null): string {
  if (stretch === null) return 'false';
  const [from, below] = stretch;
  return `${column} >= '${from}'${below === null ? '' : ` and ${column} < '${below}'`}`;
}

/** The relations of a law about transfers: `span`, and `moved` with their transfers. */
export function relationsOf({ spans, transfers }: LawScope, keeps = false): string {
  return `with span as (${spans}), moved as ${keeps ? 'materialized ' : ''}(
    select s.after_seq, s.base_credits - s.base_debits - s.base_pending as base_available,
      s.debits is not null as is_compared, t.*, r.kind as settles, r.amount_usd_micro as reserved,
      r.account_id as reserved_of
    from span s ${transfers})`;
}
