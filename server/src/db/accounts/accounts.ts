import { namesOf } from '../../core/account/email.ts';
import { isUuid, lastId } from '../../lib/id.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

/** An account `a` with its balance `b`. */
export const accountColumns = columns('a', {
  id: of<string>(),
  email: of<string>(),
  status: of<'active' | 'suspended'>(),
  is_operator: of<boolean>(),
  name: of<string | null>(),
  /** The account's share of every rate, in millionths. */
  price_ppm: of<number>(),
  /** Whether its keys of scope `keys` work and its people may make such keys. */
  keys_by_api: of<boolean>(),
  created_at: of<Date>(),
  available_usd_micro: of<bigint>('b.credits_posted - b.debits_posted - b.debits_pending'),
  reserved_usd_micro: of<bigint>('b.debits_pending'),
  /** The next money that comes in pays this debt first. */
  debt_usd_micro: of<bigint>('b.debt'),
});
const secretColumns = columns('a', { webhook_secrets: of<string[]>() });
export type AccountRow = RowOf<typeof accountColumns> & RowOf<typeof secretColumns>;

/** Creates the account with an empty balance; false if the e-mail address is taken. */
export async function insert(
  db: Connection,
  account: { id: string; email: string; is_operator: boolean; webhook_secret: string },
): Promise<boolean> {
  const rows = await db.run(sql`
    with a as (
      insert into accounts (id, email, is_operator, webhook_secrets)
      values (${account.id}, ${account.email}, ${account.is_operator},
        ${[account.webhook_secret]}::text[])
      on conflict do nothing returning id
    )
    insert into balances (account_id) select id from a returning account_id`);
  return rows.length > 0;
}

/** One account by e-mail address or id, or null. */
export async function find(db: Connection, emailOrId: string): Promise<AccountRow | null> {
  const { stored, form } = namesOf(emailOrId);
  const id = isUuid(stored) ? stored : null;
  const rows = await db.run(sql`
    select ${accountColumns}, ${secretColumns}
    from accounts a join balances b on b.account_id = a.id
    where a.email = ${stored} or coalesce(a.email_form, a.email) = ${form} or a.id = ${id}
    order by a.email <> ${stored} limit 1`);
  return rows[0] ?? null;
}

/** Newest first, in pages: `before` is the last id of the previous page. */
export function list(
  db: Connection,
  page: { limit: number; before?: string | undefined },
): Promise<AccountRow[]> {
  return db.run(sql`
    select ${accountColumns}, ${secretColumns}
    from (
      select * from accounts
      where id < ${page.before ?? lastId}::uuid
      order by id desc limit ${page.limit}
    ) a join balances b on b.account_id = a.id order by a.id desc`);
}

export async function count(db: Connection): Promise<number> {
  const [row] = await db.run<{ n: bigint }>(sql`select count(*) as n from accounts`);
  return Number(row!.n);
}

export interface NewAccounts {
  /** Its first moment, in ISO 8601. */
  hour: string;
  count: bigint;
}

/** The number of accounts created in each hour since then; hours without any are left out. */
export function countNew(db: Connection, since: Date): Promise<NewAccounts[]> {
  return db.run<NewAccounts>(sql`
    select to_char(hour, 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"') as hour, count from (
      select date_trunc('hour', created_at at time zone 'utc') as hour, count(*) as count
      from accounts where created_at >= ${since} group by 1
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
  keys_by_api: boolean;
}

/**
 * Locks the account, its list of members and its number of keys until the transaction ends, and
 * returns what an operator may change.
 */
export async function lock(db: Connection, id: string): Promise<Switches> {
  const [row] = await db.run<Switches>(sql`
    select status, price_ppm, is_operator, keys_by_api
    from accounts where id = ${id} for no key update`);
  return row!;
}

export async function setOperator(db: Connection, id: string, is_operator: boolean): Promise<void> {
  await db.run(sql`update accounts set is_operator = ${is_operator} where id = ${id}`);
}

export async function setPrice(db: Connection, id: string, price_ppm: number): Promise<void> {
  await db.run(sql`update accounts set price_ppm = ${price_ppm} where id = ${id}`);
}

export async function setKeysByApi(db: Connection, id: string, allowed: boolean): Promise<void> {
  await db.run(sql`update accounts set keys_by_api = ${allowed} where id = ${id}`);
}

export async function hasKeysByApi(db: Connection, id: string): Promise<boolean> {
  const [row] = await db.run<{ keys_by_api: boolean }>(sql`
    select keys_by_api from accounts where id = ${id}`);
  return row!.keys_by_api;
}

/**
 * Puts a new webhook secret in front of the present one. Null if there are two already, or no such
 * account.
 */
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

/** Whether the account has paid, or is an operator's: others could be made to write to anybody. */
export async function mayCauseLetters(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run(sql`
    select from accounts a where a.id = ${id} and (a.is_operator or exists (
      select from transfers t where t.account_id = a.id and t.kind = 'deposit'
        and t.source in ('paid', 'chain', 'voucher')))`);
  return rows.length > 0;
}

/** Replaces all webhook secrets by this one. */
export async function replaceSecrets(db: Connection, id: string, secret: string): Promise<void> {
  await db.run(sql`
    update accounts set webhook_secrets = ${[secret]}::text[] where id = ${id}`);
}

/** Whether money is reserved or a job has not ended. */
export async function hasOpenRequests(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run(sql`
    select from balances where account_id = ${id} and (debits_pending > 0 or open_requests > 0)`);
  return rows.length > 0;
}

/** Removes the older of two secrets. Null if there is only one, or no such account. */
export async function dropOlderSecret(db: Connection, id: string): Promise<string[] | null> {
  const [row] = await db.run<{ webhook_secrets: string[] }>(sql`
    update accounts set webhook_secrets = webhook_secrets[1:1]
    where id = ${id} and cardinality(webhook_secrets) = 2 returning webhook_secrets`);
  return row?.webhook_secrets ?? null;
}

/** How receipts name the account. */
export interface BilledAccount {
  name: string | null;
  email: string;
  billed_to: string | null;
}

export async function findBilled(db: Connection, id: string): Promise<BilledAccount> {
  const [row] = await db.run<BilledAccount>(sql`
    select name, email, billed_to from accounts where id = ${id}`);
  return row!;
}

export async function setBilledTo(
  db: Connection,
  id: string,
  billed_to: string | null,
): Promise<void> {
  await db.run(sql`update accounts set billed_to = ${billed_to} where id = ${id}`);
}

/** Sets the display name; if it is null, the e-mail address is shown. */
export async function setName(db: Connection, id: string, name: string | null): Promise<void> {
  await db.run(sql`update accounts set name = ${name} where id = ${id}`);
}
