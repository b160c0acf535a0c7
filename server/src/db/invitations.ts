import type { Role } from '../core/account/role.ts';
import { rawSql, sql, type Connection } from '../lib/sql.ts';

/** Links that let somebody in: into an account, or to sign up. */
export interface Invitation {
  id: string;
  /** Null: to sign up, with an account of their own. */
  account_id: string | null;
  account_name: string | null;
  email: string;
  role: Role;
  expires_at: Date;
}

/** What came of a link. */
export interface Found extends Invitation {
  /** The link proves that the address is theirs. */
  proves: boolean;
}

/**
 * Neither used up nor over, and whoever made it may still let people in there: an operator, or an
 * owner of the account it leads into. Who was it once has no say any more.
 */
const isOpen = `i.accepted_at is null and i.expires_at > now()
  and (i.invited_by is null or exists (
    select from members m join accounts o on o.id = m.account_id
    where m.person_id = i.invited_by and m.role = 'owner'
      and (m.account_id = i.account_id or (o.is_operator and o.status = 'active'))))`;
const shown = `i.id, i.account_id, coalesce(a.name, a.email) as account_name, i.email, i.role,
  i.expires_at`;
const invited = 'invitations i left join accounts a on a.id = i.account_id';

export async function insert(
  db: Connection,
  invitation: {
    id: string;
    account_id: string | null;
    email: string;
    role: Role;
    token_hash: Buffer;
    proof_hash: Buffer;
    invited_by: string | null;
    days: number;
  },
): Promise<void> {
  const { id, account_id, email, role, token_hash, proof_hash, invited_by, days } = invitation;
  await db.run(sql`
    insert into invitations
      (id, account_id, email, role, token_hash, proof_hash, invited_by, expires_at)
    values (${id}, ${account_id}, ${email}, ${role}, ${token_hash}, ${proof_hash}, ${invited_by},
      now() + make_interval(days => ${days}))`);
}

/** An open one by what stands in its link; null where it is used up, over or unknown. */
export async function findOpen(db: Connection, hash: Buffer): Promise<Found | null> {
  const [row] = await db.run<Found>(
    rawSql(
      `select ${shown}, coalesce(i.proof_hash = $1, false) as proves from ${invited}
       where (i.token_hash = $1 or i.proof_hash = $1) and ${isOpen}`,
      [hash],
    ),
  );
  return row ?? null;
}

/** False where somebody was faster. */
export async function accept(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run(
    rawSql(
      `update invitations i set accepted_at = now() where i.id = $1 and ${isOpen} returning i.id`,
      [id],
    ),
  );
  return rows.length > 0;
}

/** Those of an account, or to sign up where it is null; newest first. */
export function listOpen(db: Connection, accountId: string | null): Promise<Invitation[]> {
  return db.run<Invitation>(
    rawSql(
      `select ${shown} from ${invited} where i.account_id is not distinct from $1::uuid
       and ${isOpen} order by i.id desc limit 200`,
      [accountId],
    ),
  );
}

/** Takes an open one back, and tells whose it was; null where there is none of this account. */
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

/** Open ones of an address, wherever they lead. */
export function listFor(db: Connection, email: string): Promise<Invitation[]> {
  return db.run<Invitation>(
    rawSql(
      `select ${shown} from ${invited} where i.email = $1 and ${isOpen}
       order by i.id desc limit 200`,
      [email],
    ),
  );
}

/** Takes all open ones of an address back. */
export async function withdrawOf(db: Connection, accountId: string, email: string): Promise<void> {
  await db.run(sql`
    delete from invitations
    where account_id = ${accountId} and email = ${email} and accepted_at is null`);
}

/** Takes all open ones back that somebody made into an account. */
export async function withdrawBy(
  db: Connection,
  inviter: { account_id: string; person_id: string },
): Promise<void> {
  await db.run(sql`
    delete from invitations
    where account_id = ${inviter.account_id} and invited_by = ${inviter.person_id}
      and accepted_at is null`);
}
