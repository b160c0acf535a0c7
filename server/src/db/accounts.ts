import { isUuid } from '../lib/id.ts';
import { rawSql, sql, type Connection } from '../lib/sql.ts';

export interface AccountRow {
  id: string;
  email: string;
  status: 'active' | 'suspended';
  is_operator: boolean;
  webhook_secrets: string[];
  name: string | null;
  /** What it pays of every rate, in millionths. */
  price_ppm: number;
  created_at: Date;
  available_usd_micro: bigint;
  reserved_usd_micro: bigint;
}

/** Creates the account with an empty balance; false where the e-mail address is taken. */
export async function insert(
  db: Connection,
  account: { id: string; email: string; is_operator: boolean; webhook_secret: string },
): Promise<boolean> {
  const rows = await db.run(sql`
    with a as (
      insert into accounts (id, email, is_operator, webhook_secrets)
      values (${account.id}, ${account.email}, ${account.is_operator},
        ${[account.webhook_secret]}::text[])
      on conflict (email) do nothing returning id
    )
    insert into balances (account_id) select id from a returning account_id`);
  return rows.length > 0;
}

/** One account by e-mail address or id; null where there is none. */
export async function find(db: Connection, emailOrId: string): Promise<AccountRow | null> {
  const name = emailOrId.toLowerCase();
  const id = isUuid(name) ? name : null;
  const rows = await db.run<AccountRow>(sql`
    select a.id, a.email, a.status, a.is_operator, a.webhook_secrets, a.name,
      a.price_ppm, a.created_at,
      b.credits_posted - b.debits_posted - b.debits_pending as available_usd_micro,
      b.debits_pending as reserved_usd_micro
    from accounts a join balances b on b.account_id = a.id
    where a.email = ${name} or a.id = ${id}`);
  return rows[0] ?? null;
}

/** Newest first, a page at a time: pass the last id of the page before. */
export function list(
  db: Connection,
  page: { limit: number; before?: string | undefined },
): Promise<AccountRow[]> {
  return db.run<AccountRow>(sql`
    select a.id, a.email, a.status, a.is_operator, a.webhook_secrets, a.name,
      a.price_ppm, a.created_at,
      b.credits_posted - b.debits_posted - b.debits_pending as available_usd_micro,
      b.debits_pending as reserved_usd_micro
    from (
      select * from accounts
      where id < coalesce(${page.before ?? null}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      order by id desc limit ${page.limit}
    ) a join balances b on b.account_id = a.id order by a.id desc`);
}

export async function count(db: Connection): Promise<number> {
  const [row] = await db.run<{ n: bigint }>(sql`select count(*) as n from accounts`);
  return Number(row!.n);
}

export interface NewAccounts {
  day: string;
  count: bigint;
}

/** How many were made on each of the last days (UTC), today included; none: no row. */
export function countNew(db: Connection, days: number): Promise<NewAccounts[]> {
  return db.run<NewAccounts>(sql`
    select to_char(day, 'YYYY-MM-DD') as day, count from (
      select (created_at at time zone 'utc')::date as day, count(*) as count from accounts
      where created_at >= (date_trunc('day', now() at time zone 'utc')
        - (${days}::int - 1) * interval '1 day') at time zone 'utc'
      group by 1
    ) made`);
}

export async function setStatus(
  db: Connection,
  id: string,
  status: 'active' | 'suspended',
): Promise<void> {
  await db.run(sql`update accounts set status = ${status} where id = ${id}`);
}

export interface Switches {
  status: 'active' | 'suspended';
  price_ppm: number;
  is_operator: boolean;
}

/** What an operator is about to change; nobody else does until the transaction ends. */
export async function lock(db: Connection, id: string): Promise<Switches> {
  const [row] = await db.run<Switches>(sql`
    select status, price_ppm, is_operator from accounts where id = ${id} for no key update`);
  return row!;
}

export async function setOperator(db: Connection, id: string, is_operator: boolean): Promise<void> {
  await db.run(sql`update accounts set is_operator = ${is_operator} where id = ${id}`);
}

export async function setPrice(db: Connection, id: string, price_ppm: number): Promise<void> {
  await db.run(sql`update accounts set price_ppm = ${price_ppm} where id = ${id}`);
}

/** Puts a secret before the only one; null where there are two already, or no such account. */
export async function addSecret(
  db: Connection,
  id: string,
  secret: string,
): Promise<string[] | null> {
  const [row] = await db.run<{ webhook_secrets: string[] }>(sql`
    update accounts set webhook_secrets = array_prepend(${secret}::text, webhook_secrets)
    where id = ${id} and cardinality(webhook_secrets) = 1 returning webhook_secrets`);
  return row?.webhook_secrets ?? null;
}

/** Drops the older of two secrets; null where there is one only, or no such account. */
export async function dropOlderSecret(db: Connection, id: string): Promise<string[] | null> {
  const [row] = await db.run<{ webhook_secrets: string[] }>(sql`
    update accounts set webhook_secrets = webhook_secrets[1:1]
    where id = ${id} and cardinality(webhook_secrets) = 2 returning webhook_secrets`);
  return row?.webhook_secrets ?? null;
}

/** What its people call it; null: by its address. */
export async function setName(db: Connection, id: string, name: string | null): Promise<void> {
  await db.run(sql`update accounts set name = ${name} where id = ${id}`);
}

export interface FoundRow extends Omit<AccountRow, 'webhook_secrets'> {
  /** Charged and reserved this month (UTC), by all of its keys. */
  month_usd_micro: bigint;
}

export interface AccountSearch {
  /** The beginnings of words of its address or name; of an id, the beginning. Null: all. */
  words: string | null;
  only: 'active' | 'suspended' | 'operators' | null;
  below_id: string | null;
  limit: number;
}

const firstId = '00000000-0000-0000-0000-000000000000';
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const conditions = {
  active: `and a.status = 'active'`,
  suspended: `and a.status = 'suspended'`,
  operators: 'and a.is_operator',
};

/** Newest first. */
export async function search(db: Connection, wanted: AccountSearch): Promise<FoundRow[]> {
  const { words, only, below_id } = wanted;
  // In the text: a plan for any limit reads whole tables, in case of a large one.
  const limit = Math.floor(wanted.limit);
  const more = only === null ? '' : conditions[only];
  const values = [below_id ?? lastId];
  if (words === null) {
    const page = `select a.id from accounts a where a.id < $1 ${more} order by a.id desc limit ${limit}`;
    return db.run<FoundRow>(rawSql(withFigures(page), values));
  }
  const terms = termsOf(words);
  const ids = await tracedIds(db, words.trim());
  if (terms === null && ids.length === 0) return [];
  const [least, most] = idRange(words);
  // All that fit first, by the index of words; then the newest of them. The other way about, a
  // word that is rare would be looked for in every account.
  const page = `with found as materialized (
      select a.id from accounts a
      where (to_tsvector('simple', regexp_replace(a.email || ' ' || coalesce(a.name, ''),
          '[!-/:-@\\[-\`{-~]+', ' ', 'g')) @@ $2::tsquery
        or a.id between $3 and $4 or a.id = any($5::uuid[])) ${more}
    ) select id from found where id < $1 order by id desc limit ${limit}`;
  const query = terms ?? '';
  return db.run<FoundRow>(rawSql(withFigures(page), [...values, query, least, most, ids]));
}

export async function findWithFigures(db: Connection, id: string): Promise<FoundRow | null> {
  const [row] = await db.run<FoundRow>(rawSql(withFigures('select $1::uuid as id'), [id]));
  return row ?? null;
}

function withFigures(page: string): string {
  return `
    select a.id, a.email, a.status, a.is_operator, a.name, a.price_ppm, a.created_at,
      b.credits_posted - b.debits_posted - b.debits_pending as available_usd_micro,
      b.debits_pending as reserved_usd_micro,
      (select coalesce(sum(u.pending_usd_micro + u.posted_usd_micro), 0)::bigint
        from keys k join key_usage u on u.key_id = k.id
        where k.account_id = a.id and u.month = date_trunc('month', now() at time zone 'utc')::date
      ) as month_usd_micro
    from (${page}) p join accounts a on a.id = p.id join balances b on b.account_id = a.id
    order by a.id desc`;
}

/** 'Ana acme' → "'ana':* & 'acme':*"; null where there is no word in it. */
function termsOf(words: string): string | null {
  const found = words.toLowerCase().match(/[^\s!-/:-@[-`{-~]+/g);
  return found && found.map((word) => `'${word}':*`).join(' & ');
}

/** Ids that begin so; an empty range for what is no beginning of one. */
function idRange(words: string): [string, string] {
  const text = words.trim().toLowerCase();
  const isStart =
    /^[0-9a-f-]{6,36}$/.test(text) && lastId.startsWith(text.replace(/[0-9a-f]/g, 'f'));
  return isStart
    ? [text + firstId.slice(text.length), text + lastId.slice(text.length)]
    : [lastId, firstId];
}

/** Whose request, key, transfer, payment reference or person this is, where it is one. */
async function tracedIds(db: Connection, text: string): Promise<string[]> {
  const id = isUuid(text.toLowerCase()) ? text.toLowerCase() : null;
  const rows = await db.run<{ account_id: string }>(sql`
    select account_id from requests where id = ${id}
    union select account_id from keys where id = ${id}
    union select account_id from transfers where id = ${id}
    union select account_id from transfers where reference = ${text}
    union select m.account_id from people p join members m on m.person_id = p.id
      where p.email = ${text.toLowerCase()} or p.id = ${id}`);
  return rows.map(({ account_id }) => account_id);
}
