import { sql, type Connection } from '../lib/sql.ts';

/**
 * A key as a call sees it: whom it belongs to, what it may still do, and where its minute stands.
 */
export interface Caller {
  key_id: string;
  account_id: string;
  /** False: the account is suspended. */
  active: boolean;
  /** What the account pays of every rate, in millionths. */
  price_ppm: number;
  monthly_limit_usd_micro: bigint | null;
  open_jobs: number | null;
  open_requests: number;
  rate: Rate;
}

/** The running window of a key's calls. */
export interface Rate {
  granted: boolean;
  quota: number;
  remaining: number;
  reset_seconds: number;
}

interface AuthRow {
  n: number;
  key_id: string;
  account_id: string;
  active: boolean;
  price_ppm: number;
  monthly_limit_usd_micro: bigint | null;
  open_jobs: number | null;
  open_requests: number;
  quota: number;
  calls: number;
  granted: number;
  reset_seconds: number;
}

/**
 * Looks up the hashes of one batch of calls and counts each against its key's minute, exactly, over
 * all processes.
 * Null for a hash that belongs to no living key. Order and length are those of `hashes`.
 */
export async function authenticateMany(
  db: Connection,
  hashes: Buffer[],
  defaultRpm: number,
): Promise<(Caller | null)[]> {
  const groups = new Map<string, { hash: Buffer; members: number[] }>();
  for (const [i, hash] of hashes.entries()) {
    const text = hash.toString('latin1');
    const group = groups.get(text);
    if (group) group.members.push(i);
    else groups.set(text, { hash, members: [i] });
  }
  const list = [...groups.values()];
  const rows = await countCalls(
    db,
    list.map((g) => g.hash),
    list.map((g) => g.members.length),
    defaultRpm,
  );
  const callers: (Caller | null)[] = Array.from({ length: hashes.length }, () => null);
  for (const row of rows) {
    list[row.n]!.members.forEach((member, i) => (callers[member] = callerOf(row, i)));
  }
  return callers;
}

function callerOf(row: AuthRow, i: number): Caller {
  const granted = i < row.granted;
  return {
    key_id: row.key_id,
    account_id: row.account_id,
    active: row.active,
    price_ppm: row.price_ppm,
    monthly_limit_usd_micro: row.monthly_limit_usd_micro,
    open_jobs: row.open_jobs,
    open_requests: row.open_requests,
    rate: {
      granted,
      quota: row.quota,
      remaining: granted ? row.quota - (row.calls - row.granted + i + 1) : 0,
      reset_seconds: row.reset_seconds,
    },
  };
}

function countCalls(
  db: Connection,
  hashes: Buffer[],
  counts: number[],
  defaultRpm: number,
): Promise<AuthRow[]> {
  return db.run<AuthRow>(sql`
    with known as (
      select c.n::int - 1 as n, c.asked, k.id as key_id, k.account_id,
        a.status = 'active' as active, a.price_ppm,
        k.monthly_limit_usd_micro, k.open_jobs, u.open_requests, coalesce(k.rpm,
          ${defaultRpm}::int) as quota
      from unnest(${hashes}::bytea[], ${counts}::int[]) with ordinality as c (hash, asked, n)
      join keys k on k.hash = c.hash and k.revoked_at is null
      join accounts a on a.id = k.account_id
      join key_usage u on u.key_id = k.id
    ), counted as (
      insert into key_windows as w (key_id, started_at, calls, asked, granted, quota)
      select key_id, now(), least(asked, quota), asked, least(asked, quota), quota from known
      -- In key order: two processes that count the same keys must not wait for each other.
      order by key_id
      on conflict (key_id) do update set
        started_at = case when w.started_at <= now() - interval '60 s' then now()
          else w.started_at end,
        calls = case when w.started_at <= now() - interval '60 s' then excluded.calls
          else greatest(w.calls, least(w.calls + excluded.asked, excluded.quota)) end,
        granted = case when w.started_at <= now() - interval '60 s' then excluded.calls
          else greatest(w.calls, least(w.calls + excluded.asked, excluded.quota)) - w.calls end,
        asked = excluded.asked, quota = excluded.quota
      returning key_id, calls, granted, started_at
    )
    select k.n, k.key_id, k.account_id, k.active, k.price_ppm, k.monthly_limit_usd_micro,
      k.open_jobs,
      k.open_requests, k.quota,
      c.calls, c.granted,
      -- A call of another process that came first may have begun a moment later than this one.
      least(60, greatest(1, ceil(extract(epoch
        from c.started_at + interval '60 s' - now()))))::int as reset_seconds
    from known k join counted c using (key_id)`);
}

export interface KeyRow {
  id: string;
  account_id: string;
  name: string;
  prefix: string;
  last4: string;
  monthly_limit_usd_micro: bigint | null;
  rpm: number | null;
  open_jobs: number | null;
  created_at: Date;
  revoked_at: Date | null;
  month: string;
  spent_usd_micro: bigint;
  open_requests: number;
}

export interface NewKey {
  id: string;
  account_id: string;
  name: string;
  hash: Buffer;
  prefix: string;
  last4: string;
  monthly_limit_usd_micro: bigint | null;
  rpm: number | null;
  open_jobs: number | null;
}

export async function insert(db: Connection, key: NewKey): Promise<void> {
  await db.run(sql`
    with k as (
      insert into keys (id, account_id, name, hash, prefix, last4, monthly_limit_usd_micro, rpm,
        open_jobs)
      values (${key.id}, ${key.account_id}, ${key.name}, ${key.hash}, ${key.prefix}, ${key.last4},
        ${key.monthly_limit_usd_micro}, ${key.rpm}, ${key.open_jobs}) returning id, account_id
    )
    insert into key_usage (key_id, account_id, month)
    select id, account_id, date_trunc('month', now() at time zone 'utc')::date from k`);
}

/** The hash of an account's studio key; null before its first use. */
export async function findStudio(db: Connection, accountId: string): Promise<Buffer | null> {
  const [row] = await db.run<{ hash: Buffer }>(sql`
    select hash from keys where account_id = ${accountId} and is_studio`);
  return row?.hash ?? null;
}

/** Nothing where another process was faster. */
export async function insertStudio(
  db: Connection,
  key: Pick<NewKey, 'id' | 'account_id' | 'name' | 'hash' | 'prefix' | 'last4'>,
): Promise<void> {
  await db.run(sql`
    with k as (
      insert into keys (id, account_id, name, hash, prefix, last4, is_studio)
      values (${key.id}, ${key.account_id}, ${key.name}, ${key.hash}, ${key.prefix}, ${key.last4},
        true)
      on conflict (account_id) where is_studio do nothing returning id, account_id
    )
    insert into key_usage (key_id, account_id, month)
    select id, account_id, date_trunc('month', now() at time zone 'utc')::date from k`);
}

/** Keys of one account, newest first, or of all where `accountId` is null. */
export function list(db: Connection, accountId: string | null): Promise<KeyRow[]> {
  return db.run<KeyRow>(sql`
    select k.id, k.account_id, k.name, k.prefix, k.last4, k.monthly_limit_usd_micro, k.rpm,
      k.open_jobs,
      k.created_at, k.revoked_at, to_char(now() at time zone 'utc', 'YYYY-MM') as month,
      case when u.month = date_trunc('month', now() at time zone 'utc')::date
        then u.pending_usd_micro + u.posted_usd_micro else 0 end as spent_usd_micro,
      u.open_requests
    from keys k join key_usage u on u.key_id = k.id
    where (${accountId}::uuid is null or k.account_id = ${accountId}::uuid) order by k.id desc`);
}

/** Returns false where there is no such living key. */
export async function revoke(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run(sql`
    update keys set revoked_at = now() where id = ${id} and revoked_at is null returning id`);
  return rows.length > 0;
}

/**
 * Changes the limits that are given; `null` takes a limit away. Those of a revoked key stay.
 * Returns null where there is no such key.
 */
export async function setLimits(
  db: Connection,
  id: string,
  limits: {
    monthly_limit_usd_micro?: bigint | null;
    rpm?: number | null;
    open_jobs?: number | null;
  },
): Promise<'changed' | 'revoked' | null> {
  const given = (name: keyof typeof limits) => limits[name] !== undefined;
  const [row] = await db.run<{ revoked: boolean }>(sql`
    with changed as (update keys set
      monthly_limit_usd_micro = case when ${given('monthly_limit_usd_micro')}
        then ${limits.monthly_limit_usd_micro ?? null}::bigint else monthly_limit_usd_micro end,
      rpm = case when ${given('rpm')} then ${limits.rpm ?? null}::int else rpm end,
      open_jobs = case when ${given('open_jobs')} then ${limits.open_jobs ?? null}::int
        else open_jobs end
    where id = ${id} and revoked_at is null)
    select revoked_at is not null as revoked from keys where id = ${id}`);
  return row ? (row.revoked ? 'revoked' : 'changed') : null;
}

/** The account of a living key, or null. */
export async function findLiving(db: Connection, hash: Buffer): Promise<string | null> {
  const [row] = await db.run<{ account_id: string }>(sql`
    select account_id from keys where hash = ${hash} and revoked_at is null`);
  return row?.account_id ?? null;
}
