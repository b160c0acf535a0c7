import { sql, type Connection } from '../../lib/sql/sql.ts';

/** Encrypted secrets of authenticator apps. */
export interface SealedTwoFactor {
  id: string;
  secret: string;
  backup_codes: string;
}

/** Secrets encrypted with a signing secret other than the newest: their text lacks this prefix. */
export function listSealedOtherwise(db: Connection, prefix: string): Promise<SealedTwoFactor[]> {
  return db.run<SealedTwoFactor>(sql`
    select id, secret, backup_codes from two_factors
    where not starts_with(secret, ${prefix}) or not starts_with(backup_codes, ${prefix})
    limit 100000`);
}

/** Replaces a secret unless it was changed after it was read. */
export async function replace(
  db: Connection,
  before: SealedTwoFactor,
  after: SealedTwoFactor,
): Promise<void> {
  await db.run(sql`
    update two_factors set secret = ${after.secret}, backup_codes = ${after.backup_codes}
    where id = ${before.id} and secret = ${before.secret}
      and backup_codes = ${before.backup_codes}`);
}

/** The encrypted secret of a person's app; null if there is none, or if wrong codes locked it. */
export async function findSecret(db: Connection, personId: string): Promise<string | null> {
  const [row] = await db.run<{ secret: string }>(sql`
    select secret from two_factors
    where person_id = ${personId} and (locked_until is null or locked_until <= now())`);
  return row?.secret ?? null;
}

/** Uses up the code of this time step; false if this or a later step was used before. */
export async function useStep(db: Connection, personId: string, step: number): Promise<boolean> {
  const rows = await db.run(sql`
    update two_factors set last_step = ${step}
    where person_id = ${personId} and (last_step is null or last_step < ${step}) returning id`);
  return rows.length > 0;
}
