import { randomBytes } from 'node:crypto';
import { hashKey, keyHint, newKey } from '../../core/account/key.ts';
import { ApiError } from '../../core/errors.ts';
import { formatUsd } from '../../core/price/money.ts';
import { unseen, unseenWords } from '../../core/account/name.ts';
import type { KeyScope } from '../../core/account/scope.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as ceilings from '../../db/accounts/key-ceilings.ts';
import * as changes from '../../db/accounts/key-changes.ts';
import * as keys from '../../db/accounts/keys.ts';
import { newId } from '../../lib/id.ts';
import type { Connection, Database, Transaction } from '../../lib/sql/sql.ts';
import { Refused } from '../refused.ts';

export interface KeyLimits {
  monthly_limit_usd_micro: bigint | null;
  rpm: number | null;
  open_jobs: number | null;
  /** When the key stops working; null: never. */
  expires_at?: Date | null;
  /** The only models that the key may use; null: all. */
  models?: string[] | null;
}

/** A week, for teams that deploy once a week. */
export const overlapMaxHours = 168;
/** High enough that only a runaway script reaches it. */
export const livingKeysMax = 1_000;
/** Revoked keys are kept too, so a leaked key of scope `keys` must not make keys without end. */
export const madeADayMax = 2_000;

/**
 * The hash of the key that an account's people spend with on the web pages. The key is created at
 * first use, and nobody has its secret.
 */
export async function studioKey(db: Database, account_id: string, bounds: Bounds): Promise<Buffer> {
  const found = await keys.findStudio(db, account_id);
  if (found) return found;
  const key = newKey(randomBytes);
  const hints = { ...keyHint(key), name: 'Studio' };
  const set = await ceilingsOf(db, account_id, bounds);
  await keys.insertStudio(db, { id: newId(), account_id, hash: hashKey(key), ...hints, ...set });
  return (await keys.findStudio(db, account_id))!;
}

/** The highest limits that an account's people may give a key without asking the operator. */
export interface Bounds {
  rpm: number;
  open_jobs: number;
}

/**
 * The operator's ceilings for new keys of the account: for each limit, the operator's newest change
 * to any of the account's keys, even to a key revoked since. A ceiling above the service's own
 * limit has no effect.
 */
export async function ceilingsOf(
  db: Connection,
  account_id: string,
  bounds: Bounds,
): Promise<keys.Ceilings> {
  const set = await ceilings.ofAccount(db, account_id);
  const below = (ceiling: number | null, most: number) =>
    ceiling !== null && ceiling < most ? ceiling : null;
  return {
    ...set,
    rpm_ceiling: below(set.rpm_ceiling, bounds.rpm),
    open_jobs_ceiling: below(set.open_jobs_ceiling, bounds.open_jobs),
  };
}

type WantedKey = { account_id: string; name: string } & KeyLimits;
/** `created_by`: the key of scope `keys` that makes this key; null: a person makes it. */
type OwnKey = WantedKey & { scope: KeyScope; created_by: string | null };

/**
 * Creates a key; its secret is returned here and never again. `is_fixed`: an operator creates it,
 * so the account's people may lower its limits but neither raise nor remove them. These limits
 * apply to this key alone. Throws `Refused`.
 */
export function createKey(
  db: Database,
  { is_fixed = false, ...wanted }: WantedKey & { is_fixed?: boolean },
): Promise<{ key: string; key_id: string }> {
  const { monthly_limit_usd_micro, rpm, open_jobs } = wanted;
  const own = {
    monthly_ceiling_usd_micro: monthly_limit_usd_micro,
    rpm_ceiling: rpm,
    open_jobs_ceiling: open_jobs,
  };
  const made = { ...wanted, scope: 'spend', created_by: null } as const;
  return db.tx(async (tx) => {
    await accounts.lock(tx, wanted.account_id);
    return insertKey(tx, made, is_fixed ? own : nothing);
  });
}

/**
 * Creates a key for the account's people or for its key of scope `keys`, within the operator's
 * ceilings. Throws `Refused`, `rate_limited` or `forbidden`.
 */
export function makeKey(
  db: Database,
  wanted: OwnKey,
  bounds: Bounds,
): Promise<{ key: string; key_id: string }> {
  demandFitting(wanted.scope, wanted);
  return db.tx(async (tx) => {
    const { keys_by_api } = await accounts.lock(tx, wanted.account_id);
    // guard: managers-only-if-allowed
    if (wanted.scope === 'keys' && !keys_by_api) throw noKeysByApi();
    const seconds = await keys.secondsUntilOlder(tx, wanted.account_id, madeADayMax);
    // guard: keys-made-a-day
    if (seconds > 0) throw tooManyADay(`make ${madeADayMax} keys`, madeADayMax, seconds);
    const set = await ceilingsOf(tx, wanted.account_id, bounds);
    const limits = {
      monthly_limit_usd_micro: wanted.monthly_limit_usd_micro ?? set.monthly_ceiling_usd_micro,
      rpm: wanted.rpm ?? set.rpm_ceiling,
      open_jobs: wanted.open_jobs ?? set.open_jobs_ceiling,
    };
    demandCeilings(limits, set);
    return insertKey(tx, { ...wanted, ...limits }, set);
  });
}

/** The refusal to create or use a key that manages keys, if the account may not have one. */
export function noKeysByApi(): ApiError {
  return new ApiError('forbidden', {
    message: 'The operator does not let this account manage keys by API. Ask the operator.',
    details: { reason: 'keys_by_api_off' },
  });
}

export function tooManyADay(what: string, limit: number, seconds: number): ApiError {
  return new ApiError('rate_limited', {
    message: `An account can ${what} in 24 hours. Wait ${seconds} s.`,
    details: { limit, window_seconds: 86_400, resets_in_seconds: seconds },
    headers: { 'retry-after': String(seconds) },
  });
}

const nothing: keys.Ceilings = {
  monthly_ceiling_usd_micro: null,
  rpm_ceiling: null,
  open_jobs_ceiling: null,
};

/** The caller has locked the account, so that no other process makes a key after the count. */
async function insertKey(
  tx: Transaction,
  wanted: OwnKey,
  set: keys.Ceilings,
): Promise<{ key: string; key_id: string }> {
  demandName(wanted.name);
  if (await keys.hasLiving(tx, wanted.account_id, livingKeysMax)) {
    throw new Refused(`An account has at most ${livingKeysMax} keys. Revoke one first.`, {
      reason: 'keys_too_many',
      limit: livingKeysMax,
    });
  }
  const key = newKey(randomBytes);
  const key_id = newId();
  const open = { expires_at: null, models: null };
  await keys.insert(tx, {
    id: key_id,
    hash: hashKey(key),
    ...keyHint(key),
    ...open,
    ...wanted,
    ...set,
  });
  return { key, key_id };
}

/**
 * For operators: changes the given limits. They become ceilings for this key and for keys that the
 * account's people create later. Null: there is no such key.
 */
export function limitKey(
  db: Database,
  key_id: string,
  limits: keys.Limits,
): Promise<'changed' | 'revoked' | null> {
  return db.tx(async (tx) => {
    const done = await keys.setLimits(tx, key_id, limits);
    if (done === 'changed') await ceilings.set(tx, key_id, limits);
    return done;
  });
}

/**
 * Changes the given fields of a key. The account's people can always lower a limit. They can raise
 * it up to the operator's ceiling for this key, or without one up to the service's own limit. They
 * cannot remove a ceiling. Throws `Refused`.
 */
export function changeKey(
  db: Database,
  wanted: { key_id: string; bounds: Bounds; name?: string; limits: keys.Limits },
): Promise<void> {
  const { key_id, bounds, name, limits } = wanted;
  return db.tx(async (tx) => {
    const now = await changes.lock(tx, key_id);
    if (!now || now.revoked)
      throw new Refused('This key is revoked and cannot be changed.', { reason: 'key_revoked' });
    const fixed = [name, limits.expires_at, limits.models].some((value) => value !== undefined);
    if (now.is_studio && fixed) {
      throw new Refused('The studio key keeps its name, never expires and may use all models.', {
        reason: 'studio_key_fixed',
      });
    }
    demandFitting(now.scope, limits);
    demandBelow(limits, now, bounds);
    if (name !== undefined) {
      demandName(name);
      await changes.rename(tx, key_id, name);
    }
    await keys.setLimits(tx, key_id, limits, 'people');
  });
}

/** Refuses limits that a key of scope `keys` cannot have; the keys that it makes have their own. */
function demandFitting(scope: KeyScope, limits: keys.Limits): void {
  if (scope === 'spend') return;
  const field = (['monthly_limit_usd_micro', 'open_jobs', 'models'] as const).find(
    (name) => (limits[name] ?? null) !== null,
  );
  if (field !== undefined)
    throw new Refused(
      `A key that manages keys spends nothing, so it has no ${field}. Limit the keys that it makes.`,
      { reason: 'key_spends_nothing', field },
    );
}

function demandBelow(limits: keys.Limits, now: changes.KeyHead, bounds: Bounds): void {
  demandCeilings(limits, now);
  for (const field of ['rpm', 'open_jobs'] as const) {
    const most = now[`${field}_ceiling`] ?? Math.max(bounds[field], now[field] ?? 0);
    if ((limits[field] ?? 0) > most)
      throw new Refused(`${field} can be at most ${most}. Ask the operator for more.`, {
        reason: 'limit_too_high',
        field,
        maximum: most,
      });
  }
}

function demandCeilings(limits: keys.Limits, set: keys.Ceilings): void {
  for (const field of ['rpm', 'open_jobs'] as const)
    demandCeiling(field, limits[field], set[`${field}_ceiling`], String);
  const { monthly_limit_usd_micro: wanted } = limits;
  const usd = (amount: bigint) => `${formatUsd(amount)} USD`;
  demandCeiling('monthly_limit_usd_micro', wanted, set.monthly_ceiling_usd_micro, usd);
}

/**
 * Refuses a limit above the operator's ceiling, and removing the limit where there is a ceiling.
 */
function demandCeiling<T extends number | bigint>(
  field: string,
  wanted: T | null | undefined,
  ceiling: T | null,
  words: (ceiling: T) => string,
): void {
  if (ceiling === null || wanted === undefined) return;
  if (wanted !== null && wanted <= ceiling) return;
  throw new Refused(
    `The operator has set ${field} to at most ${words(ceiling)}. You can lower it, but not raise or remove it.`,
    { reason: 'limit_of_operator', field, ceiling: words(ceiling) },
  );
}

/**
 * Gives a key a new secret, returned here and never again. The old secret works until the overlap
 * ends; id, limits and spending stay. `last4` names the secret to replace, so that only one of two
 * simultaneous rotations happens. Throws `Refused`.
 */
export function rotateKey(
  db: Database,
  wanted: { key_id: string; last4: string; overlap_hours: number },
): Promise<{ key: string; previous_until: Date | null }> {
  const { key_id, last4, overlap_hours } = wanted;
  if (!Number.isInteger(overlap_hours) || overlap_hours < 0 || overlap_hours > overlapMaxHours) {
    throw new Refused(`The overlap must be a whole number of hours from 0 to ${overlapMaxHours}.`, {
      reason: 'overlap_invalid',
      maximum: overlapMaxHours,
    });
  }
  return db.tx(async (tx) => {
    const now = await changes.lock(tx, key_id);
    if (!now || now.revoked)
      throw new Refused('This key is revoked. Make another one.', { reason: 'key_revoked' });
    if (now.is_studio)
      throw new Refused('The studio key cannot be rotated: nobody has its secret.', {
        reason: 'studio_key_secret',
      });
    if (now.expired)
      throw new Refused('This key has expired. Give it a later expiry first.', {
        reason: 'key_expired',
      });
    // guard: one-rotation
    if (now.last4 !== last4) {
      throw new Refused(
        'This key was rotated in the meantime, so nothing was changed. Reload it.',
        {
          reason: 'key_rotated',
        },
      );
    }
    const key = newKey(randomBytes);
    const next = { hash: hashKey(key), ...keyHint(key), overlap_hours };
    return { key, ...(await changes.rotate(tx, key_id, next)) };
  });
}

/**
 * Ends the overlap of the last rotation now, so the previous secret stops working. Throws
 * `Refused`.
 */
export async function endOverlap(db: Database, key_id: string): Promise<void> {
  if (!(await changes.dropPrevious(db, key_id)))
    throw new Refused('This key has no earlier secret that still works.', {
      reason: 'overlap_over',
    });
}

/** Revokes a key for good, from the next call on. Throws `Refused`. */
export async function revokeKey(db: Database, key_id: string): Promise<void> {
  if (await keys.revoke(db, key_id)) return;
  if (await changes.isStudio(db, key_id))
    throw new Refused('The studio key cannot be revoked. Set its monthly limit to 0 to stop it.', {
      reason: 'studio_key_stays',
    });
  throw new Refused('This key is already revoked.', { reason: 'key_revoked' });
}

/** A name has one line, because it is shown in lists and typed to confirm a revocation. */
export function demandName(name: string): void {
  if (name.length < 1 || name.length > 100 || name.trim() !== name || unseen.test(name)) {
    throw new Refused(`A key's name must have 1 to 100 characters, on one line, ${unseenWords}.`, {
      reason: 'name_invalid',
      max_length: 100,
    });
  }
}
