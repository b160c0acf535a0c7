import { wrongSetting, type UpstreamDefinition } from '../../core/catalog/upstream-definition.ts';
import * as controls from '../../db/upstreams/controls.ts';
import { fingerprint, encrypt, decrypt } from '../../lib/encrypt.ts';
import type { Connection } from '../../lib/sql/sql.ts';
import { Refusal } from '../refusal.ts';

/** Keys of upstreams that operators have set: sealed with the signing secret, never shown again. */

const tailLength = 4;
/** The tail of a shorter key would tell too much. */
const tailedFrom = 12;

/** The key for the database. Throws if the upstream cannot use it. */
export function sealKey(
  secret: Buffer,
  definition: UpstreamDefinition | undefined,
  key: string,
): controls.SealedKey {
  if (!definition || definition.key_from === null)
    throw new Refusal('This upstream takes no key: its definition names no key_from.', {
      reason: 'upstream_without_key',
      field: 'key',
    });
  const wrong = wrongSetting(definition, (name) => (name === definition.key_from ? key : null));
  if (wrong !== null || key.trim() === '')
    throw new Refusal(
      'A key has only ASCII letters, digits and signs; spaces stand between keys.',
      { reason: 'upstream_key_invalid', field: 'key' },
    );
  return sealWith(secret, definition.name, key);
}

function sealWith(secret: Buffer, name: string, key: string): controls.SealedKey {
  return {
    sealed_key: encrypt(secret, name, key),
    sealed_with: fingerprint(secret),
    key_tails: key.match(/\S+/g)!.map(tailOf),
  };
}

function tailOf(key: string): string {
  return key.length < tailedFrom ? '' : key.slice(-tailLength);
}

/** The keys by upstream; null: this process has not the secret that sealed it. */
export function unsealKeys(
  rows: readonly controls.Control[],
  secrets: readonly Buffer[],
): Map<string, string | null> {
  const known = new Map(secrets.map((secret) => [fingerprint(secret), secret]));
  return new Map(
    rows.flatMap(({ name, sealed_key, sealed_with }) =>
      sealed_key === null ? [] : [[name, openSealed(known.get(sealed_with), name, sealed_key)]],
    ),
  );
}

function openSealed(secret: Buffer | undefined, name: string, sealed: string): string | null {
  if (secret === undefined) return null;
  try {
    return decrypt(secret, name, sealed);
  } catch {
    return null;
  }
}

/** Seals with the newest secret what an older one has sealed, so that the older may be removed. */
export async function resealKeys(
  db: Connection,
  rows: readonly controls.Control[],
  secrets: readonly Buffer[],
): Promise<void> {
  const [newest] = secrets;
  const keys = unsealKeys(rows, secrets);
  for (const { name, sealed_key, sealed_with } of rows) {
    const key = keys.get(name) ?? null;
    if (sealed_key === null || key === null || sealed_with === fingerprint(newest!)) continue;
    await controls.reseal(db, name, sealed_key, sealWith(newest!, name, key));
  }
}
