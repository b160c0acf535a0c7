import { sql, type Connection } from '../../lib/sql/sql.ts';

/** Signed-in browsers. Their tokens are never read from the database. */
export interface SessionRow {
  id: string;
  ip_address: string | null;
  user_agent: string | null;
  created_at: Date;
  expires_at: Date;
}

/** Sessions of a person, newest first. */
export function list(db: Connection, personId: string): Promise<SessionRow[]> {
  return db.run<SessionRow>(sql`
    select id, ip_address, user_agent, created_at, expires_at from sessions
    where person_id = ${personId} and expires_at > now() order by id desc limit 200`);
}

/** Whether this browser was signed in within the last `seconds`. */
export async function isYounger(db: Connection, id: string, seconds: number): Promise<boolean> {
  const rows = await db.run(sql`
    select from sessions
    where id = ${id} and created_at > now() - make_interval(secs => ${seconds})`);
  return rows.length > 0;
}

/** Signs a browser out; false if it is not the person's. */
export async function end(db: Connection, personId: string, id: string): Promise<boolean> {
  const rows = await db.run(sql`
    delete from sessions where id = ${id} and person_id = ${personId} returning id`);
  return rows.length > 0;
}

/** Signs all browsers except one out, and returns how many were still signed in. */
export async function endOthers(db: Connection, personId: string, keptId: string): Promise<number> {
  const rows = await db.run<{ lives: boolean }>(sql`
    delete from sessions where person_id = ${personId} and id <> ${keptId}
    returning expires_at > now() as lives`);
  return rows.filter(({ lives }) => lives).length;
}

/** Signs all browsers out, and returns how many were still signed in. */
export async function endAll(db: Connection, personId: string): Promise<number> {
  const rows = await db.run<{ lives: boolean }>(sql`
    delete from sessions where person_id = ${personId} returning expires_at > now() as lives`);
  return rows.filter(({ lives }) => lives).length;
}

/** Deletes expired sessions of a person, and some expired sign-in steps. */
export async function sweep(db: Connection, personId: string): Promise<void> {
  await db.run(sql`delete from sessions where person_id = ${personId} and expires_at < now()`);
  await db.run(sql`
    delete from verifications where id in (
      select id from verifications where expires_at < now() limit 100 for update skip locked)`);
}

/** Signs out the browser that has this token. */
export async function endByToken(db: Connection, token: string): Promise<void> {
  await db.run(sql`delete from sessions where token = ${token}`);
}
