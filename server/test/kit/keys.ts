import type { KeyChange } from '../../src/core/account/key-settings.ts';
import type { KeyScope } from '../../src/core/account/scope.ts';
import * as keys from '../../src/db/accounts/keys.ts';
import type { Database } from '../../src/lib/sql/sql.ts';
import * as verbs from '../../src/operations/accounts/key.ts';

/** Bounds that no test reaches. */
const bounds = { rpm: 1e9, open_jobs: 1e9 };

interface KeyInput extends KeyChange {
  account_id: string;
  name: string;
  scope?: KeyScope;
}

/** A key that an account's people make; no operator limits it. */
export async function createKey(db: Database, wanted: KeyInput) {
  const by = { who: 'people', account_id: wanted.account_id, bounds } as const;
  return (await verbs.createKey(db, by, wanted)).answer;
}

/** An operator's change of a key's limits. */
export async function limitKey(db: Database, key_id: string, limits: KeyChange): Promise<void> {
  await verbs.changeKey(db, { who: 'operator' }, (await keys.findAny(db, key_id))!, limits);
}
