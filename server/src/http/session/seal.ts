import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import * as twoFactors from '../../db/accounts/two-factors.ts';
import type { Database } from '../../lib/sql/sql.ts';

/** Encrypts with the signing secret, and encrypts again when the secret has been replaced. */

export interface SealKey {
  /** Prefix of everything that was encrypted with this key. */
  version: number;
  value: string;
}

/** The keys, newest first. A key's version comes from its secret, not from its position. */
export function sealKeys(secrets: readonly Buffer[]): [SealKey, ...SealKey[]] {
  const [newest, ...older] = secrets.map((secret) => ({
    version: createHash('sha256').update(secret).digest().readUInt32BE() >>> 1,
    value: secret.toString('base64url'),
  }));
  if (!newest) throw new Error('there is no secret to encrypt with');
  return [newest, ...older];
}

/**
 * Encrypts with the newest secret what an older secret has encrypted: operators remove the older
 * secret after a day, but authenticator apps are used for years.
 */
export async function reseal(db: Database, log: Logger, secrets: SealKey[]): Promise<void> {
  const [newest] = secrets;
  const rows = await twoFactors.listSealedOtherwise(db, `$ba$${newest!.version}$`);
  if (rows.length === 0) return;
  const { symmetricDecrypt, symmetricEncrypt } = await import('better-auth/crypto');
  const keys = new Map(secrets.map(({ version, value }) => [version, value]));
  const key = { keys, currentVersion: newest!.version };
  const anew = async (data: string) =>
    symmetricEncrypt({ key, data: await symmetricDecrypt({ key, data }) });
  let lost = 0;
  for (const row of rows) {
    try {
      const [secret, backup_codes] = [await anew(row.secret), await anew(row.backup_codes)];
      await twoFactors.replace(db, row, { id: row.id, secret, backup_codes });
    } catch {
      lost++;
    }
  }
  if (lost > 0)
    log.error(
      { lost },
      'the secrets of authenticator apps cannot be decrypted: the signing secret that encrypted them is missing',
    );
}
