import {
  ceilingOf,
  ceilingsFrom,
  settingNames,
  type Ceilings,
  type KeyChange,
  type KeySettings,
} from '../../core/account/key-settings.ts';
import type { KeyScope } from '../../core/account/scope.ts';
import { lastId } from '../../lib/id.ts';
import { fragment, rawSql, sql, type Connection, type Fragment } from '../../lib/sql/sql.ts';
import { monthEnd, monthStart, neverUsed, spentThisMonth } from './month.ts';
import type { SpendingKey } from './callers.ts';

/** For each hash, whether it belongs to a key that may be used now. */
export async function areGood(db: Connection, hashes: Buffer[]): Promise<boolean[]> {
  const rows = await db.run<{ n: number }>(sql`
    with asked as (
      select hash, n::int - 1 as n
      from unnest(${hashes}::bytea[]) with ordinality as c (hash, n)
    ), found as (
      select c.n, k.account_id, k.expires_at, k.revoked_at
      from asked c join keys k on k.hash = c.hash
      union all
      select c.n, k.account_id, k.expires_at, k.revoked_at
      from asked c join keys k on k.previous_hash = c.hash and k.previous_until > now()
    )
    select f.n from found f join accounts a on a.id = f.account_id and a.status = 'active'
    where f.revoked_at is null and (f.expires_at is null or f.expires_at > now())`);
  const good = new Set(rows.map(({ n }) => n));
  return hashes.map((_, n) => good.has(n));
}

export interface KeyRow extends KeySettings, Ceilings {
  id: string;
  account_id: string;
  name: string;
  prefix: string;
  last4: string;
  is_studio: boolean;
  scope: KeyScope;
  state: 'active' | 'expired' | 'revoked';
  created_at: Date;
  /** The key of scope `keys` that made it; null: a person or an operator. */
  created_by: string | null;
  created_by_name: string | null;
  revoked_at: Date | null;
  /** Until when the previous secret (replaced at the last rotation) works; null if it does not. */
  previous_until: Date | null;
  /** Its newest call since the database last crashed. */
  last_used_at: Date | null;
  /** When the previous secret (replaced at the last rotation) was last used. */
  previous_used_at: Date | null;
  month: string;
  /** Spent this month (UTC), reservations included. */
  spent_usd_micro: bigint;
  reserved_usd_micro: bigint;
  open_requests: number;
}

export interface NewKey extends KeySettings, Ceilings {
  id: string;
  account_id: string;
  name: string;
  hash: Buffer;
  prefix: string;
  last4: string;
  is_studio: boolean;
  scope: KeyScope;
  created_by: string | null;
}

const ceilingColumns = Object.values(ceilingOf);
const changing = ['name', ...settingNames, ...ceilingColumns] as const;
const fixed = ['id', 'account_id', 'hash', 'prefix', 'last4', 'is_studio', 'scope', 'created_by'];
const written = [...fixed, ...changing];

/** Does nothing for a studio key if the account has one already. */
export async function insert(db: Connection, key: NewKey): Promise<void> {
  const values: Fragment = (bind) => written.map((name) => bind(Reflect.get(key, name))).join(', ');
  await db.run(sql`
    with k as (
      insert into keys (${fragment(written.join(', '))}) values (${values})
      on conflict (account_id) where is_studio do nothing returning id, account_id
    )
    insert into key_usage (key_id, account_id, month)
    select id, account_id, ${neverUsed}::date from k`);
}

/** The hash of an account's studio key; null before its first use. */
export async function findStudio(db: Connection, accountId: string): Promise<Buffer | null> {
  const [row] = await db.run<{ hash: Buffer }>(sql`
    select hash from keys where account_id = ${accountId} and is_studio`);
  return row?.hash ?? null;
}

/** An account's studio key, read without counting a call; null before its first use. */
export async function findStudioSpender(
  db: Connection,
  accountId: string,
): Promise<SpendingKey | null> {
  const [row] = await db.run<SpendingKey>(sql`
    select k.id as key_id, k.account_id, k.scope, a.status = 'active' as active, a.price_ppm,
      k.monthly_limit_usd_micro, k.open_jobs, k.models, u.open_requests
    from keys k join accounts a on a.id = k.account_id join key_usage u on u.key_id = k.id
    where k.account_id = ${accountId} and k.is_studio`);
  return row ?? null;
}

/** The limits of an account's studio key and its spending this month; null before its first use. */
export async function readStudioSpending(
  db: Connection,
  accountId: string,
): Promise<StudioSpending | null> {
  const [row] = await db.run<StudioSpending>(sql`
    select k.monthly_limit_usd_micro, k.open_jobs, u.open_requests,
      ${fragment(spentThisMonth)} as spent_usd_micro,
      ${fragment(monthEnd)} as resets_at
    from keys k join key_usage u on u.key_id = k.id
    where k.account_id = ${accountId} and k.is_studio`);
  return row ?? null;
}

/**
 * The money a key can spend: its account's balance and its monthly limit, read at the same time.
 */
export interface KeyFunds {
  available_usd_micro: bigint;
  reserved_usd_micro: bigint;
  name: string;
  limit_usd_micro: bigint | null;
  /** Charged plus reserved. */
  spent_usd_micro: bigint;
  /** When the month (UTC) ends. */
  resets_at: string;
}

export async function readFunds(db: Connection, keyId: string): Promise<KeyFunds> {
  const [row] = await db.run<KeyFunds>(sql`
    select b.credits_posted - b.debits_posted - b.debits_pending as available_usd_micro,
      b.debits_pending as reserved_usd_micro, k.name,
      k.monthly_limit_usd_micro as limit_usd_micro,
      ${fragment(spentThisMonth)} as spent_usd_micro,
      ${fragment(monthEnd)} as resets_at
    from keys k join key_usage u on u.key_id = k.id
      join balances b on b.account_id = k.account_id
    where k.id = ${keyId}`);
  return row!;
}

export interface StudioSpending {
  monthly_limit_usd_micro: bigint | null;
  open_jobs: number | null;
  open_requests: number;
  /** Charged plus reserved. */
  spent_usd_micro: bigint;
  /** When the month (UTC) ends. */
  resets_at: string;
}

const settingColumns = [...settingNames, ...ceilingColumns].map((name) => `k.${name}`).join(', ');

const columns = `
  select k.id, k.account_id, k.name, k.prefix, k.last4, k.is_studio, k.scope, k.created_by,
    (select name from keys where id = k.created_by) as created_by_name,
    case when k.revoked_at is not null then 'revoked' when k.expires_at <= now() then 'expired'
      else 'active' end as state, ${settingColumns}, k.created_at, k.revoked_at,
    case when k.previous_until > now() then k.previous_until end as previous_until,
    w.used_at as last_used_at,
    case when k.previous_until > now() then w.previous_used_at end as previous_used_at,
    to_char(now() at time zone 'utc', 'YYYY-MM') as month,
    ${spentThisMonth} as spent_usd_micro,
    case when u.month = ${monthStart}::date then u.pending_usd_micro else 0 end
      as reserved_usd_micro,
    u.open_requests
  from keys k join key_usage u on u.key_id = k.id left join key_windows w on w.key_id = k.id`;

interface KeyPage {
  /** Null or left out: from the newest. */
  below_id?: string | null;
  limit: number;
}

/** A page of an account's keys, newest first, without its studio key. */
export function page(
  db: Connection,
  // `is_active`: only keys that are neither revoked nor expired.
  { account_id, is_active, ...bounds }: KeyPage & { account_id: string; is_active: boolean },
): Promise<KeyRow[]> {
  const active = 'and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())';
  return pageOf(
    db,
    `k.account_id = $3 and not k.is_studio ${is_active ? active : ''}`,
    [account_id],
    bounds,
  );
}

/** A page of the keys of one account or (null) of all, newest first, studio keys included. */
export function list(
  db: Connection,
  { account_id, ...bounds }: KeyPage & { account_id: string | null },
): Promise<KeyRow[]> {
  if (account_id === null) return pageOf(db, 'true', [], bounds);
  return pageOf(db, 'k.account_id = $3', [account_id], bounds);
}

function pageOf(
  db: Connection,
  where: string,
  values: unknown[],
  { below_id = null, limit }: KeyPage,
): Promise<KeyRow[]> {
  return db.run<KeyRow>(
    rawSql(`${columns} where k.id < $1::uuid and ${where} order by k.id desc limit $2`, [
      below_id ?? lastId,
      limit,
      ...values,
    ]),
  );
}

export interface KeyName {
  key_id: string;
  name: string;
  last4: string;
  revoked: boolean;
}

/** The newest unrevoked keys of an account, then its newest revoked ones; `limit` of each. */
export function listNames(db: Connection, accountId: string, limit: number): Promise<KeyName[]> {
  return db.run<KeyName>(sql`
    (select id as key_id, name, last4, false as revoked from keys
      where account_id = ${accountId} and revoked_at is null order by id desc limit ${limit})
    union all
    (select id, name, last4, true from keys
      where account_id = ${accountId} and revoked_at is not null order by id desc limit ${limit})`);
}

/** One of an account's keys, or null. */
export async function find(db: Connection, accountId: string, id: string): Promise<KeyRow | null> {
  const [row] = await db.run<KeyRow>(
    rawSql(`${columns} where k.id = $1 and k.account_id = $2`, [id, accountId]),
  );
  return row ?? null;
}

/** The key with this present secret, whatever its state. */
export async function findByHash(db: Connection, hash: Buffer): Promise<KeyRow | null> {
  const [row] = await db.run<KeyRow>(rawSql(`${columns} where k.hash = $1`, [hash]));
  return row ?? null;
}

export async function findAny(db: Connection, id: string): Promise<KeyRow | null> {
  const [row] = await db.run<KeyRow>(rawSql(`${columns} where k.id = $1`, [id]));
  return row ?? null;
}

/** Whether an account has at least this many keys that are not revoked. */
export async function hasLiving(db: Connection, accountId: string, count: number) {
  const rows = await db.run(sql`
    select from keys where account_id = ${accountId} and revoked_at is null
    offset ${count - 1} limit 1`);
  return rows.length > 0;
}

/** Seconds until the last 24 hours contain fewer than `count` new keys of an account; 0 if now. */
export async function countSecondsUntilOlder(
  db: Connection,
  accountId: string,
  count: number,
): Promise<number> {
  const [row] = await db.run<{ seconds: number }>(sql`
    select ceil(extract(epoch from created_at + interval '24 hours' - now()))::int as seconds
    from keys where account_id = ${accountId} order by id desc offset ${count - 1} limit 1`);
  return Math.max(0, row?.seconds ?? 0);
}

/** Revokes a key. Returns false if there is no such unrevoked key, or if it is a studio key. */
export async function revoke(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run(sql`
    update keys set revoked_at = now()
    where id = ${id} and revoked_at is null and not is_studio returning id`);
  return rows.length > 0;
}

/**
 * Changes the given fields; `null` removes a setting. A revoked key does not change. A limit set by
 * an operator becomes a ceiling for the account's people. Returns null if there is no such key.
 */
export async function change(
  db: Connection,
  id: string,
  given: KeyChange & { name?: string },
  by: 'operator' | 'people',
): Promise<'changed' | 'revoked' | null> {
  const fields = { ...given, ...(by === 'operator' && ceilingsFrom(given)) };
  const [row] = await db.run<{ revoked: boolean }>(sql`
    with changed as (update keys set ${assignments(changing, fields)}
      where id = ${id} and revoked_at is null)
    select revoked_at is not null as revoked from keys where id = ${id}`);
  return row ? (row.revoked ? 'revoked' : 'changed') : null;
}

/** Sets the account's ceilings when an operator limits a key, unless it is the studio key. */
export async function setCeilings(db: Connection, id: string, limits: KeyChange): Promise<void> {
  await db.run(sql`
    update accounts set ${assignments(ceilingColumns, ceilingsFrom(limits), 'key_')}
    where id = (select account_id from keys where id = ${id} and not is_studio)`);
}

/** `a = $1, b = $2` for those of these columns that are given. */
function assignments(columns: readonly string[], fields: object, prefix = ''): Fragment {
  const given = columns.filter((name) => Reflect.get(fields, name) !== undefined);
  // A row that stays as it is has to be named, too.
  if (given.length === 0) return fragment('id = id');
  return (bind) =>
    given.map((name) => `${prefix}${name} = ${bind(Reflect.get(fields, name))}`).join(', ');
}

/** The account's ceilings for the keys that its people make. */
export async function readCeilings(db: Connection, accountId: string): Promise<Ceilings> {
  const [row] = await db.run<Ceilings>(sql`
    select key_monthly_ceiling_usd_micro as monthly_ceiling_usd_micro,
      key_rpm_ceiling as rpm_ceiling, key_open_jobs_ceiling as open_jobs_ceiling
    from accounts where id = ${accountId}`);
  return row!;
}

/**
 * The models that the key with this secret is restricted to; null: no restriction, or no such key.
 */
export async function findModels(db: Connection, hash: Buffer): Promise<string[] | null> {
  const [row] = await db.run<{ models: string[] | null }>(sql`
    select models from keys
    where (hash = ${hash} or previous_hash = ${hash} and previous_until > now())
      and revoked_at is null and (expires_at is null or expires_at > now())`);
  return row?.models ?? null;
}

/** The account of a usable key, or null. */
export async function findAccountOfSecret(db: Connection, hash: Buffer): Promise<string | null> {
  const [row] = await db.run<{ account_id: string }>(sql`
    select account_id from keys where hash = ${hash} and revoked_at is null
      and (expires_at is null or expires_at > now())`);
  return row?.account_id ?? null;
}

/** Revokes all keys of these accounts except studio keys, and returns how many. */
export async function revokeAll(db: Connection, accountIds: string[]): Promise<number> {
  const rows = await db.run(sql`
    update keys set revoked_at = now()
    where account_id = any(${accountIds}::uuid[]) and revoked_at is null and not is_studio
    returning id`);
  return rows.length;
}
