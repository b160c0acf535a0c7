import type { Ceilings } from '../../core/account/key-settings.ts';
import type { KeyScope } from '../../core/account/scope.ts';
import { sql, type Connection, type Transaction } from '../../lib/sql/sql.ts';

/** Locks, rotations and kinds of keys. */

export interface KeyHead extends Ceilings {
  last4: string;
  is_studio: boolean;
  scope: KeyScope;
  rpm: number | null;
  open_jobs: number | null;
  revoked: boolean;
  expired: boolean;
}

/** Locks a key and returns what the checks of its changes need. */
export async function lock(tx: Transaction, id: string): Promise<KeyHead | null> {
  const [row] = await tx.run<KeyHead>(sql`
    select last4, is_studio, scope, rpm, open_jobs, monthly_ceiling_usd_micro, rpm_ceiling,
      open_jobs_ceiling,
      revoked_at is not null as revoked, coalesce(expires_at <= now(), false) as expired
    from keys where id = ${id} for update`);
  return row ?? null;
}

/** Replaces a key's secret; the old secret works for this many hours more. */
export async function rotate(
  tx: Transaction,
  id: string,
  next: { hash: Buffer; prefix: string; last4: string; overlap_hours: number },
): Promise<{ previous_until: Date | null }> {
  const { hash, prefix, last4, overlap_hours } = next;
  const [row] = await tx.run<{ previous_until: Date | null }>(sql`
    update keys set previous_hash = case when ${overlap_hours}::int > 0 then hash end,
      previous_until = case when ${overlap_hours}::int > 0
        then now() + ${overlap_hours}::int * interval '1 hour' end,
      hash = ${hash}, prefix = ${prefix}, last4 = ${last4}
    where id = ${id} returning previous_until`);
  tx.send(sql`update key_windows set previous_used_at = null where key_id = ${id}`);
  return row!;
}

/**
 * Ends the overlap after a rotation: the previous secret stops working. Returns false if it had
 * already stopped.
 */
export async function dropPrevious(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run<{ was_good: boolean }>(sql`
    with before as (select id, previous_until > now() as was_good from keys
      where id = ${id} and revoked_at is null and previous_hash is not null for update)
    update keys k set previous_hash = null, previous_until = null from before
    where k.id = before.id returning before.was_good`);
  return rows[0]?.was_good ?? false;
}

export async function isStudio(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run(sql`select from keys where id = ${id} and is_studio`);
  return rows.length > 0;
}
