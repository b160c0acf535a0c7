import { highest, type OperatorRole } from '../../core/account/operator-role.ts';
import { fragment, sql, type Connection } from '../../lib/sql/sql.ts';

/** The people who run the service: they belong to an operator's account that is not suspended. */

const role = fragment(`case when m.role = 'owner' then 'owner' else m.operator_role end`);

/** The role of a person on the console; null if they have none. */
export async function findRole(db: Connection, personId: string): Promise<OperatorRole | null> {
  const rows = await db.run<{ role: OperatorRole | null }>(sql`
    select ${role} as role from members m join accounts a on a.id = m.account_id
    where m.person_id = ${personId} and a.is_operator and a.status = 'active'`);
  return highest(rows.flatMap((row) => row.role ?? []));
}

/** Everybody with a role on the console, owners first. */
export function list(
  db: Connection,
): Promise<{ id: string; email: string; role: OperatorRole; account: string }[]> {
  return db.run<{ id: string; email: string; role: OperatorRole; account: string }>(sql`
    select p.id, p.email, ${role} as role, a.email as account
    from accounts a join members m on m.account_id = a.id join people p on p.id = m.person_id
    where a.is_operator and a.status = 'active'
      and (m.role = 'owner' or m.operator_role is not null)
    order by m.role <> 'owner', m.created_at, p.id limit 500`);
}

interface NamedParts {
  account_id: string | null;
  key_id: string | null;
  person_id: string | null;
}

/**
 * Whether this is an operator's account, a key of one, or a person who belongs to one; also if the
 * account is suspended.
 */
export async function isOfOperators(db: Connection, named: NamedParts): Promise<boolean> {
  const rows = await db.run(sql`
    select from accounts where is_operator and (id = ${named.account_id}::uuid
      or id = (select account_id from keys where id = ${named.key_id}::uuid)
      or id in (select account_id from members where person_id = ${named.person_id}::uuid))
    limit 1`);
  return rows.length > 0;
}

/** Operators' accounts, oldest first; at most two, to tell whether there is only one. */
export function listAccounts(db: Connection): Promise<{ id: string; email: string }[]> {
  return db.run<{ id: string; email: string }>(sql`
    select id, email from accounts where is_operator and status = 'active' order by id limit 2`);
}

/** Ends all roles on the console in an account that stops being an operator's. */
export async function clearRoles(db: Connection, accountId: string): Promise<void> {
  await db.run(sql`
    update members set operator_role = null
    where account_id = ${accountId} and operator_role is not null`);
}

/** The confirmed addresses of the owners of the service. */
export async function listEmails(db: Connection): Promise<string[]> {
  const rows = await db.run<{ email: string }>(sql`
    select distinct p.email from members m join people p on p.id = m.person_id
      join accounts a on a.id = m.account_id
    where a.is_operator and a.status = 'active' and m.role = 'owner' and p.email_verified
    order by p.email`);
  return rows.map(({ email }) => email);
}
