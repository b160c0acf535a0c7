import { randomBytes } from 'node:crypto';
import { hashKey, keyHint, newKey } from '../../core/account/key.ts';
import { nameMax } from '../../core/account/name.ts';
import { inOrder, type Scope } from '../../core/account/scope.ts';
import * as operatorKeys from '../../db/operator-keys.ts';
import { newId } from '../../lib/id.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { ActionResult, Author } from '../operator-action.ts';
import { demandLine } from '../line.ts';
import { Refusal } from '../refusal.ts';

/** No operator has this many programs that need a key. */
export const operatorKeysMax = 100;

/** Creates an operator key; its secret is returned here and never again. Throws `Refusal`. */
export async function createOperatorKey(
  db: Database,
  by: Author,
  wanted: { name: string; scopes: readonly Scope[] },
): Promise<ActionResult<{ key: string; operator_key_id: string; name: string; scopes: Scope[] }>> {
  const name = demandLine('name', wanted.name, nameMax);
  if (await operatorKeys.hasLiving(db, operatorKeysMax)) {
    throw new Refusal(`There can be at most ${operatorKeysMax} operator keys. Revoke one first.`, {
      reason: 'operator_keys_too_many',
      limit: operatorKeysMax,
    });
  }
  const scopes = inOrder(wanted.scopes);
  const key = newKey(randomBytes, 'fbo_');
  const id = newId();
  const hints = { hash: hashKey(key), ...keyHint(key) };
  await operatorKeys.insert(db, { id, name, scopes, created_by: by.email, ...hints });
  return {
    answer: { key, operator_key_id: id, name, scopes },
    target: name,
    details: { key_id: id, scopes },
  };
}

/** Revokes an operator key for good, from the next call on. Throws `Refusal`. */
export async function revokeOperatorKey(
  db: Database,
  id: string,
): Promise<ActionResult<{ operator_key_id: string }>> {
  const target = await operatorKeys.revoke(db, id);
  if (target === null)
    throw new Refusal('This operator key is already revoked, or never existed.', {
      reason: 'operator_key_revoked',
    });
  return { answer: { operator_key_id: id }, target, details: { key_id: id } };
}
