import type { Scope } from '../core/account/scope.ts';
import { lastId } from '../lib/id.ts';
import { sql, type Connection } from '../lib/sql/sql.ts';

/** Keys for the operator's API, and their calls in the present minute. */

export interface OperatorKeyRow {
  id: string;
  name: string;
  prefix: string;
  last4: string;
  scopes: Scope[];
  /** The address of the operator who made it, or "command line". */
  created_by: string;
  /** True: no operator has this address now. */
  maker_left: boolean;
  created_at: Date;
  revoked_at: Date | null;
  /** Its newest call since the database last crashed. */
  last_used_at: Date | null;
}

export type NewOperatorKey = Omit<
  OperatorKeyRow,
  'maker_left' | 'created_at' | 'revoked_at' | 'last_used_at'
> & { hash: Buffer };

export async function insert(db: Connection, key: NewOperatorKey): Promise<void> {
  await db.run(sql`
    insert into operator_keys (id, name, hash, prefix, last4, scopes, created_by)
    values (${key.id}, ${key.name}, ${key.hash}, ${key.prefix}, ${key.last4},
      ${key.scopes}::text[], ${key.created_by})`);
}

/** Newest first. `below_id`: the last id of the page before. */
export function list(
  db: Connection,
  { below_id, limit }: { below_id: string | null; limit: number },
): Promise<OperatorKeyRow[]> {
  return db.run<OperatorKeyRow>(sql`
    select k.id, k.name, k.prefix, k.last4, k.scopes, k.created_by, k.created_at, k.revoked_at,
      w.used_at as last_used_at,
      k.created_by like '%@%' and not exists (
        select from people p join members m on m.person_id = p.id
          join accounts a on a.id = m.account_id
        where p.email = k.created_by and m.role = 'owner' and a.is_operator
          and a.status = 'active') as maker_left
    from operator_keys k left join operator_key_windows w on w.key_id = k.id
    where k.id < ${below_id ?? lastId}::uuid
    order by k.id desc limit ${limit}`);
}

/** Whether there are at least this many keys that are not revoked. */
export async function hasLiving(db: Connection, count: number): Promise<boolean> {
  const rows = await db.run(sql`
    select from operator_keys where revoked_at is null offset ${count - 1} limit 1`);
  return rows.length > 0;
}

/** Revokes a key and returns its name; null if there is no such unrevoked key. */
export async function revoke(db: Connection, id: string): Promise<string | null> {
  const [row] = await db.run<{ name: string }>(sql`
    update operator_keys set revoked_at = now() where id = ${id} and revoked_at is null
    returning name`);
  return row?.name ?? null;
}

/** An operator key as needed for a call. */
export interface OperatorCaller {
  operator_key_id: string;
  name: string;
  scopes: Scope[];
  /** Calls in the present minute, this one included. */
  calls: number;
  reset_seconds: number;
}

/**
 * The key with this hash; null if there is none or it is revoked. Counts the call exactly, over all
 * processes. `quota`: calls allowed per minute; the count stops at one more.
 */
export async function authenticate(
  db: Connection,
  hash: Buffer,
  quota: number,
): Promise<OperatorCaller | null> {
  const [row] = await db.run<OperatorCaller>(sql`
    with known as (
      select id, name, scopes from operator_keys where hash = ${hash}
        and revoked_at is null -- guard: revoked-operator-key
    ), counted as (
      insert into operator_key_windows as w (key_id, started_at, calls, used_at)
      select id, now(), 1, now() from known
      on conflict (key_id) do update set
        started_at = case when w.started_at <= now() - interval '60 s' then now()
          else w.started_at end,
        calls = case when w.started_at <= now() - interval '60 s' then 1
          else least(w.calls, ${quota}::int) + 1 end,
        used_at = now()
      returning key_id, calls, started_at
    )
    select k.id as operator_key_id, k.name, k.scopes, c.calls,
      -- Another process may have begun the minute slightly after now() of this transaction.
      least(60, greatest(1, ceil(extract(epoch
        from c.started_at + interval '60 s' - now()))))::int as reset_seconds
    from known k join counted c on c.key_id = k.id`);
  return row ?? null;
}
