import { randomBytes } from 'node:crypto';
import { hashKey, keyHint, newKey } from '../core/key.ts';
import * as keys from '../db/keys.ts';
import { newId } from '../lib/id.ts';
import type { Database } from '../lib/sql.ts';
import { Refused } from './account.ts';

export interface KeyLimits {
  monthly_limit_usd_micro: bigint | null;
  rpm: number | null;
  open_jobs: number | null;
}

/**
 * The hash of the key with which an account's people spend on the web pages, made with its first
 * use. Nobody has its text.
 */
export async function studioKey(db: Database, account_id: string): Promise<Buffer> {
  const found = await keys.findStudio(db, account_id);
  if (found) return found;
  const key = newKey(randomBytes);
  const hints = { ...keyHint(key), name: 'Studio' };
  await keys.insertStudio(db, { id: newId(), account_id, hash: hashKey(key), ...hints });
  return (await keys.findStudio(db, account_id))!;
}

/** Makes a key; its text is told here and never again. */
export async function createKey(
  db: Database,
  wanted: { account_id: string; name: string } & KeyLimits,
): Promise<{ key: string; key_id: string }> {
  if (wanted.name.length < 1 || wanted.name.length > 100) {
    throw new Refused("A key's name has 1 to 100 characters.");
  }
  const key = newKey(randomBytes);
  const key_id = newId();
  await keys.insert(db, { id: key_id, hash: hashKey(key), ...keyHint(key), ...wanted });
  return { key, key_id };
}
