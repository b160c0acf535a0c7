import type { LowerOperatorRole } from '../../core/account/operator-role.ts';
import type { Role } from '../../core/account/role.ts';
import { rawSql, sql, type Connection } from '../../lib/sql/sql.ts';

/** A link that lets a person into an account, or lets them sign up. */
export interface Invitation {
  id: string;
  /** Null: the link is for signing up, and the person gets their own account. */
  account_id: string | null;
  account_name: string | null;
  email: string;
  role: Role;
  /** Their rights on the console, if the account is an operator's. */
  operator_role: LowerOperatorRole | null;
  expires_at: Date;
}

export interface FoundInvitation extends Invitation {
  /** Using this link confirms the address. */
  proves: boolean;
}

/**
 * An open invitation is neither accepted nor expired. Its inviter (null: the command line) is still
 * an operator or an owner of the account, so a former owner's invitations stop working. Into an
 * operator's account only owners of the service invite.
 */
const isOpen = `i.accepted_at is null and i.expires_at > now()
  and (i.invited_by is null or exists (
    select from members m join accounts o on o.id = m.account_id
    where m.person_id = i.invited_by
      and (m.role = 'owner' and m.account_id = i.account_id or o.is_operator
        and o.status = 'active' and (m.role = 'owner' or m.operator_role = 'support'
          and not exists (
            select from accounts to_join where to_join.id = i.account_id
              and to_join.is_operator)))))`;
const shown = `i.id, i.account_id, coalesce(a.name, a.email) as account_name, i.email, i.role,
  i.operator_role, i.expires_at`;
const invited = 'invitations i left join accounts a on a.id = i.account_id';

export async function insert(
  db: Connection,
  invitation: {
    id: string;
    account_id: string | null;
    email: string;
    role: Role;
    operator_role: LowerOperatorRole | null;
    token_hash: Buffer;
    proof_hash: Buffer;
    invited_by: string | null;
    days: number;
  },
): Promise<void> {
  const { id, account_id, email, role, operator_role, token_hash, proof_hash } = invitation;
  const { invited_by, days } = invitation;
  await db.run(sql`
    insert into invitations
      (id, account_id, email, role, operator_role, token_hash, proof_hash, invited_by, expires_at)
    values (${id}, ${account_id}, ${email}, ${role}, ${operator_role}, ${token_hash},
      ${proof_hash}, ${invited_by}, now() + make_interval(days => ${days}))`);
}

/** An open invitation by its link's token; null if it is used, expired or unknown. */
export async function findOpen(db: Connection, hash: Buffer): Promise<FoundInvitation | null> {
  const [row] = await db.run<FoundInvitation>(
    rawSql(
      `select ${shown}, coalesce(i.proof_hash = $1, false) as proves from ${invited}
       where (i.token_hash = $1 or i.proof_hash = $1) and ${isOpen}`,
      [hash],
    ),
  );
  return row ?? null;
}

/** Returns false if it was accepted in the meantime. */
export async function accept(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run(
    rawSql(
      `update invitations i set accepted_at = now() where i.id = $1 and ${isOpen} returning i.id`,
      [id],
    ),
  );
  return rows.length > 0;
}

/** Open invitations into an account, or (null) for signing up; newest first. */
export function listOpen(db: Connection, accountId: string | null): Promise<Invitation[]> {
  const values = accountId === null ? [] : [accountId];
  const ofAccount = `i.account_id ${accountId === null ? 'is null' : '= $1'}`;
  return db.run<Invitation>(
    rawSql(
      `select ${shown} from ${invited} where ${ofAccount} and ${isOpen}
       order by i.id desc limit 200`,
      values,
    ),
  );
}

/**
 * Withdraws an invitation that was not accepted. Returns its address and role; null if this account
 * has no such invitation.
 */
export async function withdraw(
  db: Connection,
  id: string,
  accountId: string | null,
): Promise<{ email: string; role: Role } | null> {
  const [row] = await db.run<{ email: string; role: Role }>(sql`
    delete from invitations where id = ${id} and accepted_at is null
      and account_id is not distinct from ${accountId}::uuid returning email, role`);
  return row ?? null;
}

/** Open invitations of an address, to any account. */
export function listFor(db: Connection, email: string): Promise<Invitation[]> {
  return db.run<Invitation>(
    rawSql(
      `select ${shown} from ${invited} where i.email = $1 and ${isOpen}
       order by i.id desc limit 200`,
      [email],
    ),
  );
}

/** Withdraws all open invitations of an address into this account. */
export async function withdrawOf(db: Connection, accountId: string, email: string): Promise<void> {
  await db.run(sql`
    delete from invitations
    where account_id = ${accountId} and email = ${email} and accepted_at is null
      and expires_at > now()`);
}

/** Withdraws all open invitations into an account by one inviter. */
export async function withdrawBy(
  db: Connection,
  inviter: { account_id: string; person_id: string },
): Promise<void> {
  await db.run(sql`
    delete from invitations
    where account_id = ${inviter.account_id} and invited_by = ${inviter.person_id}
      and accepted_at is null and expires_at > now()`);
}

/** Withdraws all open invitations into these accounts. */
export async function withdrawAll(db: Connection, accountIds: string[]): Promise<void> {
  await db.run(sql`
    delete from invitations
    where account_id = any(${accountIds}::uuid[]) and accepted_at is null
      and expires_at > now()`);
}

/** Withdraws all open invitations by one inviter, into any account. */
export async function withdrawAllBy(db: Connection, personId: string): Promise<void> {
  await db.run(sql`
    delete from invitations where invited_by = ${personId} and accepted_at is null`);
}

/** Deletes invitations that were accepted or expired long ago, and returns how many. */
export async function clear(db: Connection, olderThanDays: number, limit: number): Promise<number> {
  const rows = await db.run(sql`
    delete from invitations where id = any(array(
      select id from invitations where expires_at < now() - ${olderThanDays} * interval '1 day'
      limit ${limit}))
    returning id`);
  return rows.length;
}
