import type { KeyScope } from '../../core/account/scope.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

/** The key of a call: its account, its limits, and its calls in the present minute. */
export interface Caller {
  key_id: string;
  account_id: string;
  scope: KeyScope;
  /** False: the account is suspended. */
  active: boolean;
  /** The account's share of every rate, in millionths. */
  price_ppm: number;
  monthly_limit_usd_micro: bigint | null;
  open_jobs: number | null;
  /** The only models it may use; null: all. */
  models: string[] | null;
  open_requests: number;
  rate: CallRate;
}

/** A key as its row has it. */
export type SpendingKey = Omit<Caller, 'rate'>;

/** A key whose calls are not counted here. */
export interface Spender extends SpendingKey {
  /** The person who is signed in; left out: a program with a key. */
  person_id?: string;
}

/** The key that opened a stream or a waiting call. */
export interface KeyGrant {
  key_hash: Buffer;
  account_id: string;
}

/**
 * A key that no longer works although nobody revoked it, because it has expired or its secret was
 * replaced.
 */
export interface LapsedKey {
  lapsed: 'expired' | 'replaced';
  at: Date;
}

/** The present minute of a key's calls, or of its account's if the account has fewer calls left. */
export interface CallRate {
  of: 'key' | 'account';
  granted: boolean;
  quota: number;
  remaining: number;
  reset_seconds: number;
}

interface AuthRow extends SpendingKey {
  n: number;
  quota: number;
  calls: number;
  granted: number;
  reset_seconds: number;
  /**
   * Null: this key's own limit is above the account's ceiling, so its calls are not counted towards
   * the ceiling.
   */
  account_granted: number | null;
  account_calls: number;
  account_reset_seconds: number;
}

/** Calls per minute: of a key without its own limit, and of all keys of an account together. */
export interface Quotas {
  key: number;
  account: number;
}

/** A secret that was sent with one or more calls of a batch. */
interface PresentedKey {
  hash: Buffer;
  /** Positions of those calls in the batch. */
  members: number[];
  /** True: the calls were sent with the key's previous secret, replaced at the last rotation. */
  previous: boolean;
}

/**
 * Looks up the hashes of one batch of calls and counts each call against the minute of its key and
 * of its account, exactly, over all processes. Nearly all hashes are of present secrets and need
 * one statement; the other hashes are looked up once more, as previous secrets. Returns one item
 * per hash, in the same order; null for a hash without a key.
 */
export async function authenticateMany(
  db: Connection,
  hashes: Buffer[],
  quotas: Quotas,
): Promise<(Caller | LapsedKey | null)[]> {
  const shown = groupBySecret(hashes.map((hash, i) => ({ hash, members: [i], previous: false })));
  const found: (Caller | LapsedKey | null)[] = Array.from({ length: hashes.length }, () => null);
  const missing = await take(db, shown, quotas, found);
  if (missing.length === 0) return found;
  const rows = await findOthers(
    db,
    missing.map(({ hash }) => hash),
  );
  const present: PresentedKey[] = [];
  for (const { n, hash, previous, lapsed, at } of rows) {
    const { members } = missing[n]!;
    if (lapsed === null) present.push({ hash, members, previous });
    else for (const member of members) found[member] = { lapsed, at: at! };
  }
  if (present.length > 0) await take(db, groupBySecret(present), quotas, found);
  return found;
}

/** One entry for each secret, with all its calls: one upsert cannot change a row twice. */
function groupBySecret(all: PresentedKey[]): PresentedKey[] {
  const groups = new Map<string, PresentedKey>();
  for (const { hash, members, previous } of all) {
    const text = hash.toString('latin1');
    const group = groups.get(text);
    if (group) group.members.push(...members);
    else groups.set(text, { hash, members: [...members], previous });
  }
  return [...groups.values()];
}

/** Fills in the callers. Returns the entries whose secret is not the present one of a key. */
async function take(
  db: Connection,
  shown: PresentedKey[],
  quotas: Quotas,
  found: (Caller | LapsedKey | null)[],
): Promise<PresentedKey[]> {
  const rows = await countCalls(db, shown, quotas);
  // By account: how many calls of this batch its keys' limits have let through so far.
  const passed = new Map<string, number>();
  for (const row of rows) {
    shown[row.n]!.members.forEach((member, i) => {
      const nth = passed.get(row.account_id) ?? 0;
      // A key that is not counted towards the account's ceiling uses none of the account's calls.
      if (row.account_granted !== null && i < row.granted) passed.set(row.account_id, nth + 1);
      found[member] = callerOf(row, nearest(keyRate(row, i), accountRate(row, nth, quotas)));
    });
  }
  if (rows.length === shown.length) return [];
  const known = new Set(rows.map(({ n }) => n));
  return shown.filter((_, n) => !known.has(n));
}

function keyRate(row: AuthRow, i: number): CallRate {
  const { quota, reset_seconds } = row;
  const granted = i < row.granted;
  const remaining = granted ? quota - (row.calls - row.granted + i + 1) : 0;
  return { of: 'key', granted, quota, remaining, reset_seconds };
}

function accountRate(row: AuthRow, nth: number, { account: quota }: Quotas): CallRate | null {
  if (row.account_granted === null) return null;
  const granted = nth < row.account_granted;
  const remaining = granted ? quota - (row.account_calls - row.account_granted + nth + 1) : 0;
  return { of: 'account', granted, quota, remaining, reset_seconds: row.account_reset_seconds };
}

/** The window that refuses the call, otherwise the window with fewer calls left. */
function nearest(key: CallRate, account: CallRate | null): CallRate {
  if (!key.granted || account === null) return key;
  return !account.granted || account.remaining < key.remaining ? account : key;
}

function callerOf(row: AuthRow, rate: CallRate): Caller {
  return {
    key_id: row.key_id,
    account_id: row.account_id,
    scope: row.scope,
    active: row.active,
    price_ppm: row.price_ppm,
    monthly_limit_usd_micro: row.monthly_limit_usd_micro,
    open_jobs: row.open_jobs,
    models: row.models,
    open_requests: row.open_requests,
    rate,
  };
}

function countCalls(db: Connection, shown: PresentedKey[], quotas: Quotas): Promise<AuthRow[]> {
  const rows = shown.map(({ hash, members, previous }, n) => ({
    n,
    hash,
    asked: members.length,
    previous,
  }));
  return db.run<AuthRow>(sql`
    with known as (
      select c.n, c.asked, c.previous, k.id as key_id, k.account_id, k.scope,
        a.status = 'active' as active, a.price_ppm, k.models,
        k.monthly_limit_usd_micro, k.open_jobs, u.open_requests, coalesce(k.rpm,
          ${quotas.key}::int) as quota
      from ${rowsOf(rows, { n: 'int', hash: 'bytea', asked: 'int', previous: 'bool' })} as c
      join keys k on k.hash = c.hash
        and k.revoked_at is null -- guard: revoked-key
        and (k.expires_at is null or k.expires_at > now()) -- guard: expired-key
      join accounts a on a.id = k.account_id
      join key_usage u on u.key_id = k.id
    ), counted as (
      insert into key_windows as w (key_id, started_at, calls, asked, granted, quota, used_at,
        previous_used_at)
      select key_id, now(), least(asked, quota), asked, least(asked, quota), quota, now(),
        case when previous then now() end from known
      -- In order of key, so that two processes that count the same keys cannot deadlock.
      order by key_id
      on conflict (key_id) do update set
        started_at = case when w.started_at <= now() - interval '60 s' then now()
          else w.started_at -- guard: minute-has-sixty-seconds (off: now())
          end,
        calls = case when w.started_at <= now() - interval '60 s' then excluded.calls
          else greatest(w.calls, least(excluded.asked +
            w.calls, -- guard: calls-add-up (off: 0)
            excluded.quota)) end,
        granted = case when w.started_at <= now() - interval '60 s' then excluded.calls
          else greatest(w.calls, least(w.calls + excluded.asked, excluded.quota)) - w.calls end,
        asked = excluded.asked, quota = excluded.quota, used_at = excluded.used_at,
        previous_used_at = coalesce(excluded.previous_used_at, w.previous_used_at)
      returning key_id, calls, granted, started_at
    ), together as (
      insert into account_windows as w (account_id, started_at, calls, asked, granted)
      select k.account_id, now(), least(sum(c.granted), ${quotas.account}::int)::int,
        sum(c.granted)::int, least(sum(c.granted), ${quotas.account}::int)::int
      from counted c join known k using (key_id) where k.quota <= ${quotas.account}::int
      -- After the keys and in order of account, so that two processes cannot deadlock.
      group by k.account_id order by k.account_id
      on conflict (account_id) do update set
        started_at = case when w.started_at <= now() - interval '60 s' then now()
          else w.started_at end,
        calls = case when w.started_at <= now() - interval '60 s' then excluded.calls
          else greatest(w.calls, least(w.calls + excluded.asked, ${quotas.account}::int)) end,
        granted = case when w.started_at <= now() - interval '60 s' then excluded.calls
          else greatest(w.calls, least(w.calls + excluded.asked, ${quotas.account}::int))
            - w.calls end,
        asked = excluded.asked
      returning account_id, calls, granted, started_at
    )
    select k.n, k.key_id, k.account_id, k.scope, k.active, k.price_ppm, k.monthly_limit_usd_micro,
      k.open_jobs, k.models, k.open_requests, k.quota, c.calls, c.granted,
      -- Another process may have begun the minute slightly after now() of this transaction.
      least(60, greatest(1, ceil(extract(epoch
        from c.started_at + interval '60 s' - now()))))::int as reset_seconds,
      case when k.quota <= ${quotas.account}::int then t.granted end as account_granted,
      coalesce(t.calls, 0) as account_calls,
      least(60, greatest(1, ceil(extract(epoch
        from coalesce(t.started_at, now()) + interval '60 s' - now()))))::int
        as account_reset_seconds
    from known k join counted c using (key_id) left join together t using (account_id)`);
}

interface OtherRow {
  n: number;
  /** Hash of the key's present secret. */
  hash: Buffer;
  previous: boolean;
  lapsed: 'expired' | 'replaced' | null;
  at: Date | null;
}

/** Unrevoked keys with these secrets, present or previous, expired or not. */
function findOthers(db: Connection, hashes: Buffer[]): Promise<OtherRow[]> {
  return db.run<OtherRow>(sql`
    with asked as (
      select hash, n::int - 1 as n
      from unnest(${hashes}::bytea[]) with ordinality as c (hash, n)
    ), found as (
      select c.n, k.hash, k.expires_at, false as previous, null::timestamptz as previous_until
      from asked c join keys k on k.hash = c.hash where k.revoked_at is null
      union all
      select c.n, k.hash, k.expires_at, true, k.previous_until
      from asked c join keys k on k.previous_hash = c.hash where k.revoked_at is null
    )
    select n, hash, previous,
      case when expires_at <= now() then 'expired'
        when previous_until <= now() then 'replaced' -- guard: rotated-secret-ends
        end as lapsed,
      case when expires_at <= now() then expires_at else previous_until end as at
    from found`);
}

/** The account of a key that may be used now, or null. */
export async function findAccountOfKey(db: Connection, keyId: string): Promise<string | null> {
  const [row] = await db.run<{ account_id: string }>(sql`
    select k.account_id from keys k join accounts a on a.id = k.account_id
    where k.id = ${keyId} and k.revoked_at is null and a.status = 'active'
      and (k.expires_at is null or k.expires_at > now())`);
  return row?.account_id ?? null;
}
