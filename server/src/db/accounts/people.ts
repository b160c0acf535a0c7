import { namesOf } from '../../core/account/email.ts';
import type { LowerOperatorRole } from '../../core/account/operator-role.ts';
import type { Role } from '../../core/account/role.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';
import * as links from './links.ts';
import * as members from './members.ts';

/** People who sign in, and the accounts they belong to. */

export interface PersonRow {
  id: string;
  name: string;
  email: string;
  email_verified: boolean;
  two_factor_enabled: boolean;
  created_at: Date;
}

export interface NewPerson {
  id: string;
  name: string;
  email: string;
  email_verified: boolean;
  login_id: string;
  /** As `hashPassword` returns it. */
  password: string;
}

/** Creates a person with a password; false if the e-mail address is taken. */
export async function insert(db: Connection, person: NewPerson): Promise<boolean> {
  const { id, name, email, email_verified, login_id, password } = person;
  const rows = await db.run(sql`
    with p as (
      insert into people (id, name, email, email_verified, owner_proven)
      values (${id}, ${name}, ${email}, ${email_verified}, ${email_verified})
      on conflict do nothing returning id
    )
    insert into logins (id, person_id, provider_id, provider_account_id, password)
    select ${login_id}::uuid, id, 'credential', id::text, ${password} from p returning id`);
  return rows.length > 0;
}

export async function find(db: Connection, email: string): Promise<PersonRow | null> {
  const { stored, form } = namesOf(email);
  const [row] = await db.run<PersonRow>(sql`
    select id, name, email, email_verified, two_factor_enabled, created_at from people
    where email = ${stored} or coalesce(email_form, email) = ${form}
    order by email <> ${stored} limit 1`);
  return row ?? null;
}

export async function findById(db: Connection, id: string): Promise<PersonRow | null> {
  const [row] = await db.run<PersonRow>(sql`
    select id, name, email, email_verified, two_factor_enabled, created_at from people
    where id = ${id}`);
  return row ?? null;
}

/** Locks a person who is to be deleted: nobody joins them to an account until the end. */
export async function lockWhole(db: Connection, id: string): Promise<PersonRow | null> {
  const [row] = await db.run<PersonRow>(sql`
    select id, name, email, email_verified, two_factor_enabled, created_at from people
    where id = ${id} for update`);
  return row ?? null;
}

/**
 * Deletes a person with all their ways to sign in and their memberships. Accounts, keys, movements
 * and rows of the operator's log stay.
 */
export async function remove(db: Connection, id: string): Promise<void> {
  await db.run(sql`delete from people where id = ${id}`);
}

/** Newest first. */
export function list(db: Connection, { limit }: { limit: number }): Promise<PersonRow[]> {
  return db.run<PersonRow>(sql`
    select id, name, email, email_verified, two_factor_enabled, created_at from people
    order by id desc limit ${limit}`);
}

export async function count(db: Connection): Promise<number> {
  const [row] = await db.run<{ n: bigint }>(sql`select count(*) as n from people`);
  return Number(row!.n);
}

export async function rename(db: Connection, id: string, name: string): Promise<void> {
  await db.run(sql`update people set name = ${name}, updated_at = now() where id = ${id}`);
}

/** Locks a person and their ways to sign in until the transaction ends. */
export async function lock(db: Connection, id: string): Promise<void> {
  await db.run(sql`select from people where id = ${id} for no key update`);
  await db.run(sql`select from logins where person_id = ${id} for no key update`);
}

/**
 * Locks the person with this address who has not confirmed it. Returns their id, or null if there
 * is none. `proves`: the caller has shown that the address is theirs. Otherwise a person who signs
 * in with more than a password is left alone.
 */
export async function lockUnproven(
  db: Connection,
  email: string,
  proves: boolean,
): Promise<string | null> {
  const [row] = await db.run<{ id: string }>(sql`
    select p.id from people p
    where coalesce(p.email_form, p.email) = ${email} and not p.email_verified
      and (${proves} or not p.two_factor_enabled
        and not exists (select from logins l where l.person_id = p.id
          and l.provider_id <> 'credential')
        and not exists (select from passkeys k where k.person_id = p.id))
    for no key update of p`);
  return row?.id ?? null;
}

/** Marks the address as confirmed, by someone who knows how the person signs in. */
export async function verify(db: Connection, id: string): Promise<void> {
  await db.run(sql`
    update people set email_verified = true, owner_proven = true, updated_at = now()
    where id = ${id} and not owner_proven`);
}

/** The person's ways to sign in: providers of `logins`. */
export async function listLogins(db: Connection, id: string): Promise<string[]> {
  const rows = await db.run<{ provider_id: string }>(sql`
    select provider_id from logins where person_id = ${id}
      and (provider_id <> 'credential' or password is not null)`);
  return rows.map((row) => row.provider_id);
}

/** Removes the second factor, so that the password alone is enough again. */
export async function dropTwoFactor(db: Connection, id: string): Promise<void> {
  await links.forgetSteps(db, id);
  await db.run(sql`delete from two_factors where person_id = ${id}`);
  await db.run(sql`
    update people set two_factor_enabled = false, updated_at = now() where id = ${id}`);
}

/** Ends every way to sign in except the password and the authenticator app. */
export async function dropOtherWays(db: Connection, personId: string): Promise<void> {
  await db.run(sql`delete from passkeys where person_id = ${personId}`);
  await db.run(sql`
    delete from logins where person_id = ${personId} and provider_id <> 'credential'`);
}

/** Sets a password; null removes it. Returns false if they have none to replace. */
export async function setPassword(
  db: Connection,
  personId: string,
  password: string | null,
): Promise<boolean> {
  const rows = await db.run(sql`
    update logins set password = ${password}, updated_at = now()
    where person_id = ${personId} and provider_id = 'credential' returning id`);
  return rows.length > 0;
}

/** Sets a confirmed address. Returns the previous one, or null if the new one is taken. */
export async function setEmail(db: Connection, id: string, email: string): Promise<string | null> {
  const [row] = await db.run<{ before: string }>(sql`
    update people p set email = ${email}, email_form = null, email_verified = true,
      owner_proven = true, updated_at = now()
    from (select id, email from people where id = ${id} for update) old
    where p.id = old.id
      and not exists (select from people where id <> ${id}
        and (email = ${email} or coalesce(email_form, email) = ${email}))
    returning old.email as before`);
  return row?.before ?? null;
}

export async function insertPassword(
  db: Connection,
  login: { id: string; person_id: string; password: string },
): Promise<void> {
  await db.run(sql`
    insert into logins (id, person_id, provider_id, provider_account_id, password)
    values (${login.id}, ${login.person_id}, 'credential', ${login.person_id}, ${login.password})`);
}

export async function findEmail(
  db: Connection,
  id: string,
): Promise<{ email: string; email_verified: boolean; owner_proven: boolean } | null> {
  const [row] = await db.run<{ email: string; email_verified: boolean; owner_proven: boolean }>(sql`
    select email, email_verified, owner_proven from people where id = ${id}`);
  return row ?? null;
}

/** The hash of the person's password; null if they have none. */
export async function findPassword(db: Connection, personId: string): Promise<string | null> {
  const [row] = await db.run<{ password: string | null }>(sql`
    select password from logins where person_id = ${personId} and provider_id = 'credential'`);
  return row?.password ?? null;
}

export interface Membership {
  account_id: string;
  role: Role;
  name: string;
  status: 'active' | 'suspended';
  is_operator: boolean;
}

/** The most accounts of one person: each of their pages lists them all. */
export const accountsMax = 100;

/** The accounts of a person, oldest first. */
export function listMemberships(db: Connection, personId: string): Promise<Membership[]> {
  return db.run<Membership>(sql`
    select m.account_id, m.role, coalesce(a.name, a.email) as name, a.status, a.is_operator
    from members m join accounts a on a.id = m.account_id
    where m.person_id = ${personId} order by m.created_at, m.account_id`);
}

/** Accounts of several people, by person: the account's e-mail address and the person's role. */
export async function readAccounts(
  db: Connection,
  ids: string[],
): Promise<Map<string, { email: string; role: Role }[]>> {
  const rows = await db.run<{ person_id: string; email: string; role: Role }>(sql`
    select m.person_id, a.email, m.role from members m join accounts a on a.id = m.account_id
    where m.person_id = any(${ids}::uuid[]) order by m.created_at, m.account_id`);
  const found = Map.groupBy(rows, ({ person_id }) => person_id);
  return new Map(
    [...found].map(([id, all]) => [id, all.map(({ email, role }) => ({ email, role }))]),
  );
}

export async function findMembership(
  db: Connection,
  personId: string,
  accountId: string,
): Promise<Membership | null> {
  const [row] = await db.run<Membership>(sql`
    select m.account_id, m.role, coalesce(a.name, a.email) as name, a.status, a.is_operator
    from members m join accounts a on a.id = m.account_id
    where m.person_id = ${personId} and m.account_id = ${accountId}`);
  return row ?? null;
}

/** Confirmed addresses of an account's owners and billing people. */
export async function listPayers(db: Connection, accountId: string): Promise<string[]> {
  const rows = await db.run<{ email: string }>(sql`
    select p.email from ${members.fromMembers(accountId)}
    where m.role in ('owner', 'billing') and p.email_verified order by p.email`);
  return rows.map(({ email }) => email);
}

/** Adds a member. Returns false and changes nothing if they already are one. */
export async function join(
  db: Connection,
  member: {
    account_id: string;
    person_id: string;
    role: Role;
    operator_role?: LowerOperatorRole | null;
  },
): Promise<boolean> {
  const { account_id, person_id, role, operator_role = null } = member;
  const rows = await db.run(sql`
    insert into members (account_id, person_id, role, operator_role)
    values (${account_id}, ${person_id}, ${role}, ${operator_role})
    on conflict (account_id, person_id) do nothing returning person_id`);
  return rows.length > 0;
}

/**
 * Counts a try under `key`, over all processes. A window lasts `seconds` from its first try.
 * Returns false if the window already had `max` tries.
 */
export async function countTry(
  db: Connection,
  wanted: { id: string; key: string; max: number; seconds: number },
): Promise<boolean> {
  const { id, key, max, seconds } = wanted;
  const [row] = await db.run<{ count: number }>(sql`
    insert into sign_in_windows as w (id, key, count, last_request)
    values (${id}, ${key}, 1, extract(epoch from now()) * 1000)
    on conflict (key) do update set
      count = case when w.last_request < (extract(epoch from now()) - ${seconds}::int) * 1000
        then 1 else w.count + 1 end,
      last_request = case when w.last_request < (extract(epoch from now()) - ${seconds}::int) * 1000
        then excluded.last_request else w.last_request end
    returning count`);
  return row!.count <= max;
}

/** An open page: which account it shows, and which sign-in it uses. */
export interface PersonGrant {
  session_id: string;
  person_id: string;
  account_id: string;
}

/** For each open page, whether its person is still signed in and still belongs to the account. */
export async function areStillThere(db: Connection, grants: PersonGrant[]): Promise<boolean[]> {
  const numbered = grants.map((grant, n) => ({ ...grant, n }));
  const rows = await db.run<{ n: number }>(sql`
    select d.n from ${rowsOf(numbered, {
      n: 'int',
      session_id: 'uuid',
      person_id: 'uuid',
      account_id: 'uuid',
    })} as d
    join sessions s on s.id = d.session_id and s.person_id = d.person_id and s.expires_at > now()
    join members m on m.person_id = d.person_id and m.account_id = d.account_id`);
  const there = new Set(rows.map(({ n }) => n));
  return grants.map((_, i) => there.has(i));
}

export interface PersonOf extends PersonRow {
  role: Role;
  /** Their rights on the console, if the account is an operator's and they are not its owner. */
  operator_role: LowerOperatorRole | null;
  /** When one of their browsers was last seen, to within a day; null if none is signed in. */
  seen_at: Date | null;
}

/** Members of an account, owners first. */
export function listOf(db: Connection, accountId: string): Promise<PersonOf[]> {
  return db.run<PersonOf>(sql`
    select p.id, p.name, p.email, p.email_verified, p.two_factor_enabled, p.created_at, m.role,
      m.operator_role,
      (select max(s.updated_at) from sessions s where s.person_id = p.id) as seen_at
    from ${members.fromMembers(accountId)}
    order by m.role <> 'owner', m.created_at, p.id`);
}
