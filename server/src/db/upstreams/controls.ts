import { sql, type Connection } from '../../lib/sql/sql.ts';

/** Operators' settings of upstreams: their state and their key. */

export const controlStates = ['on', 'draining', 'off'] as const;
export type ControlState = (typeof controlStates)[number];

/** A key that is encrypted with a signing secret. */
export interface SealedKey {
  sealed_key: string;
  /** The fingerprint of the secret. */
  sealed_with: string;
  /** The last characters of each key in it. */
  key_tails: string[];
}

export type Control = {
  name: string;
  state: ControlState;
  changed_at: Date;
  /** An operator's address, or "command line". */
  changed_by: string;
} & (SealedKey | Record<keyof SealedKey, null>);

/** In order of name. */
export function list(db: Connection): Promise<Control[]> {
  return db.run<Control>(sql`
    select name, state, sealed_key, sealed_with, key_tails, changed_at, changed_by
    from upstream_controls order by name`);
}

/** Returns the state before. The upstream stays locked until the end of the transaction. */
export async function setState(
  db: Connection,
  { name, state, by }: { name: string; state: ControlState; by: string },
): Promise<ControlState> {
  await ensure(db, name, by);
  const [before] = await db.run<{ state: ControlState }>(sql`
    select state from upstream_controls where name = ${name} for update`);
  await db.run(sql`
    update upstream_controls set state = ${state}, changed_at = now(), changed_by = ${by}
    where name = ${name}`);
  return before!.state;
}

/** Null: no key is stored from now on. */
export async function setKey(
  db: Connection,
  { name, key, by }: { name: string; key: SealedKey | null; by: string },
): Promise<void> {
  await ensure(db, name, by);
  await db.run(sql`
    update upstream_controls set sealed_key = ${key?.sealed_key ?? null},
      sealed_with = ${key?.sealed_with ?? null}, key_tails = ${key?.key_tails ?? null}::text[],
      changed_at = now(), changed_by = ${by}
    where name = ${name}`);
}

async function ensure(db: Connection, name: string, by: string): Promise<void> {
  await db.run(sql`
    insert into upstream_controls (name, changed_by) values (${name}, ${by})
    on conflict do nothing`);
}

/** Replaces a sealed key, unless somebody else has replaced it meanwhile. */
export async function reseal(
  db: Connection,
  name: string,
  old: string,
  { sealed_key, sealed_with }: Pick<SealedKey, 'sealed_key' | 'sealed_with'>,
): Promise<void> {
  await db.run(sql`
    update upstream_controls set sealed_key = ${sealed_key}, sealed_with = ${sealed_with}
    where name = ${name} and sealed_key = ${old}`);
}
