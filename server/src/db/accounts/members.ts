import type { LowerOperatorRole } from '../../core/account/operator-role.ts';
import type { Role } from '../../core/account/role.ts';
import { sql, type Connection, type Fragment } from '../../lib/sql/sql.ts';

/** A person of an account. */
export interface Member {
  person_id: string;
  name: string;
  email: string;
  role: Role;
  /** Their rights on the console, if the account is an operator's and they are not its owner. */
  operator_role: LowerOperatorRole | null;
  two_factor_enabled: boolean;
  created_at: Date;
}

/** The most people of one account. */
export const membersMax = 500;

/** The people of an account: `m` of `members` with their `p` of `people`. */
export function fromMembers(accountId: string): Fragment {
  // Each person is looked up, because a join may read all people.
  return (bind) => `(select person_id, role, operator_role, created_at from members
      where account_id = ${bind(accountId)} order by created_at, person_id limit ${membersMax}) m
    cross join lateral (select * from people where id = m.person_id limit 1) p`;
}

/** Oldest first. */
export function list(db: Connection, accountId: string): Promise<Member[]> {
  return db.run<Member>(sql`
    select m.person_id, p.name, p.email, m.role, m.operator_role, p.two_factor_enabled, m.created_at
    from ${fromMembers(accountId)}
    order by m.created_at, m.person_id`);
}

/** One member, or null. */
export async function find(
  db: Connection,
  { account_id, person_id }: { account_id: string; person_id: string },
): Promise<Pick<Member, 'email' | 'role' | 'operator_role'> | null> {
  const [row] = await db.run<Pick<Member, 'email' | 'role' | 'operator_role'>>(sql`
    select p.email, m.role, m.operator_role from members m join people p on p.id = m.person_id
    where m.account_id = ${account_id} and m.person_id = ${person_id}`);
  return row ?? null;
}

/** False if the person is not a member. Ends their role on the console, or sets another one. */
export async function setRole(
  db: Connection,
  member: { account_id: string; person_id: string; role: Role },
  operator_role: LowerOperatorRole | null = null,
): Promise<boolean> {
  const rows = await db.run(sql`
    update members set role = ${member.role}, operator_role = ${operator_role}
    where account_id = ${member.account_id} and person_id = ${member.person_id}
    returning person_id`);
  return rows.length > 0;
}

/** False if the person is not a member. */
export async function remove(
  db: Connection,
  member: { account_id: string; person_id: string },
): Promise<boolean> {
  const rows = await db.run(sql`
    delete from members
    where account_id = ${member.account_id} and person_id = ${member.person_id}
    returning person_id`);
  return rows.length > 0;
}

export async function hasOwner(db: Connection, accountId: string): Promise<boolean> {
  const rows = await db.run(sql`
    select from members where account_id = ${accountId} and role = 'owner' limit 1`);
  return rows.length > 0;
}

/** The number of an account's people; those beyond `membersMax` are not counted. */
export async function count(db: Connection, accountId: string): Promise<number> {
  const [row] = await db.run<{ n: bigint }>(sql`
    select count(*) as n from (
      select from members where account_id = ${accountId} limit ${membersMax}) m`);
  return Number(row!.n);
}

/** Whether a person with this address is a member of the account. */
export async function has(db: Connection, accountId: string, email: string): Promise<boolean> {
  const rows = await db.run(sql`
    select from members m join people p on p.id = m.person_id
    where m.account_id = ${accountId} and coalesce(p.email_form, p.email) = ${email}`);
  return rows.length > 0;
}

/** Accounts whose first member is this person, as their owner. */
export async function listFoundedBy(db: Connection, personId: string): Promise<string[]> {
  const rows = await db.run<{ account_id: string }>(sql`
    select m.account_id from members m
    where m.person_id = ${personId} and m.role = 'owner' and not exists (
      select from members o where o.account_id = m.account_id
        and (o.created_at, o.person_id) < (m.created_at, m.person_id))
    order by m.account_id`);
  return rows.map(({ account_id }) => account_id);
}

/** Removes everybody else from these accounts, and returns how many that were. */
export async function removeOthers(
  db: Connection,
  accountIds: string[],
  keptId: string,
): Promise<number> {
  const rows = await db.run(sql`
    delete from members where account_id = any(${accountIds}::uuid[]) and person_id <> ${keptId}
    returning person_id`);
  return rows.length;
}

export interface OwnedAccount {
  id: string;
  email: string;
  is_operator: boolean;
  people: number;
}

/** Accounts of which nobody else is an owner, with the number of their people. */
export function listOwnedAlone(db: Connection, personId: string): Promise<OwnedAccount[]> {
  return db.run<OwnedAccount>(sql`
    select a.id, a.email, a.is_operator, (
        select count(*)::int from members o where o.account_id = a.id) as people
    from members m join accounts a on a.id = m.account_id
    where m.person_id = ${personId} and m.role = 'owner' and not exists (
      select from members o where o.account_id = m.account_id and o.role = 'owner'
        and o.person_id <> m.person_id)
    order by a.id`);
}
