import { sql, type Connection } from '../../lib/sql/sql.ts';

/** Links that were sent or handed to a person, and other unfinished steps of signing in. */

/** `identifier` is the link's name, or the name, a blank and further data. */
export interface LinkRow {
  person_id: string;
  identifier: string;
}

export async function insert(
  db: Connection,
  link: LinkRow & { id: string; seconds: number },
): Promise<void> {
  await db.run(sql`
    insert into verifications (id, identifier, value, expires_at)
    values (${link.id}, ${link.identifier}, ${link.person_id},
      now() + make_interval(secs => ${link.seconds}))`);
}

/** The link of this name; null if there is none, or if it has expired. */
export async function find(db: Connection, name: string): Promise<LinkRow | null> {
  const [row] = await db.run<LinkRow>(sql`
    select value as person_id, identifier from verifications
    where split_part(identifier, ' ', 1) = ${name} and expires_at > now()`);
  return row ?? null;
}

/** Deletes the link of this name, so that it works only once. Returns false if there is none. */
export async function take(db: Connection, name: string): Promise<boolean> {
  const rows = await db.run(sql`
    delete from verifications
    where split_part(identifier, ' ', 1) = ${name} and expires_at > now()
    returning id`);
  return rows.length > 0;
}

/** Deletes the person's links whose name begins like this. */
export async function dropAll(db: Connection, personId: string, beginning: string): Promise<void> {
  await db.run(sql`
    delete from verifications
    where value = ${personId} and starts_with(identifier, ${beginning})`);
}

/**
 * Ends a person's unfinished steps: browsers trusted without a code, links, sign-ins that wait for
 * a code. A trigger does the same when a password or an app is set.
 */
export async function forgetSteps(db: Connection, personId: string): Promise<void> {
  await db.run(sql`delete from verifications where value = ${personId}`);
}
