import { randomBytes } from 'node:crypto';
import {
  boundedSettings,
  ceilingsFrom,
  limitsFrom,
  noCeilings,
  noSettings,
  type Ceilings,
  type KeyChange,
  type KeySettings,
} from '../../core/account/key-settings.ts';
import { hashKey, keyHint, newKey } from '../../core/account/key.ts';
import { nameMax } from '../../core/account/name.ts';
import { ApiError } from '../../core/errors.ts';
import type { KeyScope } from '../../core/account/scope.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as keyChanges from '../../db/accounts/key-changes.ts';
import * as keys from '../../db/accounts/keys.ts';
import { newId } from '../../lib/id.ts';
import { keysOf } from '../../lib/records.ts';
import type { Connection, Database, Transaction } from '../../lib/sql/sql.ts';
import type { ActionResult } from '../operator-action.ts';
import { demandLine } from '../line.ts';
import { Refusal } from '../refusal.ts';
import {
  demandBelow,
  demandFitting,
  noKeysByApi,
  keyRevoked,
  tooManyADay,
  type Bounds,
  type KeyAsker,
  type OwnAsker,
} from './key-rules.ts';

/** High enough that only a runaway script reaches it. */
export const livingKeysMax = 1_000;
/** Revoked keys are kept too, so a leaked key of scope `keys` must not make keys without end. */
export const madeADayMax = 2_000;

/**
 * The hash of the key that an account's people spend with on the web pages. The key is created at
 * first use, and nobody has its secret.
 */
export async function findOrMakeStudioKey(
  db: Database,
  account_id: string,
  bounds: Bounds,
): Promise<Buffer> {
  const found = await keys.findStudio(db, account_id);
  if (found) return found;
  const set = await readCeilings(db, account_id, bounds);
  const key = newKey(randomBytes);
  const made = { ...newRow(key, 'Studio'), account_id, is_studio: true };
  await keys.insert(db, { ...made, ...noSettings, ...limitsFrom(set), ...set });
  return (await keys.findStudio(db, account_id))!;
}

/**
 * The operator's ceilings for keys that the account's people make: for each limit, the operator's
 * newest change to any of the account's keys. A ceiling above the service's own limit has no
 * effect.
 */
export async function readCeilings(
  db: Connection,
  account_id: string,
  bounds: Bounds,
): Promise<Ceilings> {
  const set = await keys.readCeilings(db, account_id);
  const below = (ceiling: number | null, most: number) =>
    ceiling !== null && ceiling < most ? ceiling : null;
  return {
    ...set,
    rpm_ceiling: below(set.rpm_ceiling, bounds.rpm),
    open_jobs_ceiling: below(set.open_jobs_ceiling, bounds.open_jobs),
  };
}

/** The key with this id, as far as the asker may see it. Throws `not_found`. */
export async function findKey(db: Database, by: KeyAsker, key_id: string): Promise<keys.KeyRow> {
  const row =
    by.who === 'operator'
      ? await keys.findAny(db, key_id)
      : await keys.find(db, by.account_id, key_id);
  if (!row) throw new ApiError('not_found');
  // guard: studio-key-unmanaged
  if (by.who === 'key' && row.is_studio) throw new ApiError('not_found');
  return row;
}

/**
 * As `findKey`, for a change. Throws `forbidden` if a key asks for one of scope `keys`: not even
 * for itself.
 */
export async function findManaged(
  db: Database,
  by: KeyAsker,
  key_id: string,
): Promise<keys.KeyRow> {
  const row = await findKey(db, by, key_id);
  // guard: managers-unmanaged
  if (by.who === 'key' && row.scope === 'keys') {
    throw new ApiError('forbidden', {
      message: 'This key manages keys itself. People change and revoke it in the dashboard.',
    });
  }
  return row;
}

interface WantedKey extends KeyChange {
  account_id: string;
  name: string;
  /** Default: `spend`. */
  scope?: KeyScope;
}

/**
 * Creates a key; its secret is returned here and never again. The limits of an operator become
 * ceilings of this key alone. Others get the account's ceilings where they set no limit. Throws
 * `Refusal`, `rate_limited` or `forbidden`.
 */
export async function createKey(
  db: Database,
  by: KeyAsker,
  wanted: WantedKey,
): Promise<ActionResult<{ key: string; key_id: string }>> {
  const { account_id, scope = 'spend', name: given, ...limits } = wanted;
  const name = demandLine('name', given, nameMax);
  demandFitting({ scope, is_studio: false }, limits, by);
  const key = newKey(randomBytes);
  const row = newRow(key, name);
  await db.tx(async (tx) => {
    const { keys_by_api } = await accounts.lock(tx, account_id);
    if (by.who === 'operator') {
      const set = { ...noCeilings, ...ceilingsFrom(limits) };
      return insert(tx, { ...row, account_id, scope, ...noSettings, ...limits, ...set });
    }
    // guard: managers-only-if-allowed
    if (scope === 'keys' && !keys_by_api) throw noKeysByApi();
    const seconds = await keys.countSecondsUntilOlder(tx, account_id, madeADayMax);
    // guard: keys-made-a-day
    if (seconds > 0) throw tooManyADay(`make ${madeADayMax} keys`, madeADayMax, seconds);
    const created_by = by.who === 'key' ? by.key_id : null;
    return insert(tx, {
      ...row,
      account_id,
      scope,
      created_by,
      ...(await boundSettings(tx, by, limits)),
    });
  });
  const details = { key_id: row.id, ...forLog(limits) };
  return { answer: { key, key_id: row.id }, account_id, target: name, details };
}

/** The settings of a key that the account makes itself, with its ceilings. */
async function boundSettings(
  tx: Transaction,
  by: OwnAsker,
  given: KeyChange,
): Promise<KeySettings & Ceilings> {
  const set = await readCeilings(tx, by.account_id, by.bounds);
  const { monthly_limit_usd_micro: monthly, rpm, open_jobs, ...rest } = { ...noSettings, ...given };
  const limits = {
    monthly_limit_usd_micro: monthly ?? set.monthly_ceiling_usd_micro,
    rpm: rpm ?? set.rpm_ceiling,
    open_jobs: open_jobs ?? set.open_jobs_ceiling,
  };
  demandBelow(limits, set, by.bounds);
  return { ...rest, ...limits, ...set };
}

/** The part of a new key's row that its maker does not choose. */
function newRow(secret: string, name: string) {
  const fixed = { scope: 'spend', is_studio: false, created_by: null } as const;
  return { id: newId(), hash: hashKey(secret), ...keyHint(secret), name, ...fixed };
}

/** The caller has locked the account, so that no other process makes a key after the count. */
async function insert(tx: Transaction, key: keys.NewKey): Promise<void> {
  if (await keys.hasLiving(tx, key.account_id, livingKeysMax)) {
    throw new Refusal(`An account has at most ${livingKeysMax} keys. Revoke one first.`, {
      reason: 'keys_too_many',
      limit: livingKeysMax,
    });
  }
  await keys.insert(tx, key);
}

/**
 * Changes the given fields. An operator's limits become ceilings for this key and for keys that
 * the account makes later. Others can always lower a limit. They can raise it up to the ceiling of
 * this key, or without one up to the service's own limit; they cannot remove a ceiling. Throws
 * `Refusal`.
 */
export async function changeKey(
  db: Database,
  by: KeyAsker,
  key: keys.KeyRow,
  given: KeyChange & { name?: string },
): Promise<ActionResult<void>> {
  demandFitting(key, given, by);
  const { name, ...limits } = given;
  const wanted = {
    ...limits,
    ...(name !== undefined && { name: demandLine('name', name, nameMax) }),
  };
  await db.tx(async (tx) => {
    if (by.who === 'operator') {
      if ((await keys.change(tx, key.id, wanted, 'operator')) !== 'changed') throw keyRevoked();
      return keys.setCeilings(tx, key.id, limits);
    }
    const now = await keyChanges.lock(tx, key.id);
    if (!now || now.revoked) throw keyRevoked();
    demandBelow(limits, now, by.bounds);
    await keys.change(tx, key.id, wanted, 'people');
  });
  const before = forLog(Object.fromEntries(keysOf(given).map((field) => [field, key[field]])));
  const details = { key_id: key.id, ...forLog(wanted), before };
  const isLimit =
    by.who === 'operator' && boundedSettings.some((field) => given[field] !== undefined);
  return { ...of(key), answer: undefined, details, ...(isLimit && { action: 'key.limits' }) };
}

/** Revokes a key for good, from the next call on. Throws `Refusal`. */
export async function revokeKey(db: Database, key: KeyName): Promise<ActionResult<void>> {
  if (!(await keys.revoke(db, key.id))) {
    if (await keyChanges.isStudio(db, key.id))
      throw new Refusal(
        'The studio key cannot be revoked. Set its monthly limit to 0 to stop it.',
        { reason: 'studio_key_stays' },
      );
    throw new Refusal('This key is already revoked.', { reason: 'key_revoked' });
  }
  return { ...of(key), answer: undefined, details: { key_id: key.id } };
}

type KeyName = Pick<keys.KeyRow, 'id' | 'account_id' | 'name'>;

function of({ account_id, name: target }: KeyName): { account_id: string; target: string } {
  return { account_id, target };
}

/** Settings for the log: amounts as texts. */
function forLog(given: object): object {
  const asText = ([name, value]: [string, unknown]) => [
    name,
    typeof value === 'bigint' ? value.toString() : value,
  ];
  return Object.fromEntries(Object.entries(given).map(asText));
}
