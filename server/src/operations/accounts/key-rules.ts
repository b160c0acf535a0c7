import {
  boundedSettings,
  ceilingOf,
  settingNames,
  unfittingSetting,
  type Ceilings,
  type KeyChange,
} from '../../core/account/key-settings.ts';
import type { KeyScope } from '../../core/account/scope.ts';
import { ApiError } from '../../core/errors.ts';
import { formatUsd } from '../../core/price/money.ts';
import type { KeyHead } from '../../db/accounts/key-changes.ts';
import { keysOf } from '../../lib/records.ts';
import { Refusal } from '../refusal.ts';

/** Rules for the keys of an account, the same at every door. */

/** The highest limits that an account's people may give a key without asking the operator. */
export interface Bounds {
  rpm: number;
  open_jobs: number;
}

/**
 * The asker for a change of keys. An operator sets any limit, which becomes a ceiling. People and
 * a key of scope `keys` reach the keys of their account, within its ceilings and these bounds.
 */
export type KeyAsker =
  | { who: 'operator' }
  | { who: 'people'; account_id: string; bounds: Bounds }
  | { who: 'key'; account_id: string; key_id: string; bounds: Bounds };
/** An asker who belongs to the account. */
export type OwnAsker = Exclude<KeyAsker, { who: 'operator' }>;

/**
 * Refuses settings that keys of this kind cannot have. An operator may limit a key
 * that manages keys, because the limit becomes the ceiling of keys that the account makes later.
 */
export function demandFitting(
  key: { scope: KeyScope; is_studio: boolean },
  given: KeyChange & { name?: string },
  by: KeyAsker,
): void {
  const named = settingNames.filter((name) => given[name] !== undefined);
  const fixed = given.name === undefined ? unfittingSetting('notOnStudioKey', named) : 'name';
  if (key.is_studio && fixed !== undefined)
    throw new Refusal(`The ${fixed} of the studio key cannot be changed.`, {
      reason: 'studio_key_fixed',
      field: fixed,
    });
  if (key.scope === 'spend') return;
  const ceilings: readonly string[] = by.who === 'operator' ? boundedSettings : [];
  const field = unfittingSetting(
    'notOnManagingKey',
    named.filter((name) => given[name] !== null && !ceilings.includes(name)),
  );
  if (field !== undefined)
    throw new Refusal(
      `A key that manages keys spends nothing, so it has no ${field}. Limit the keys that it makes.`,
      { reason: 'key_spends_nothing', field },
    );
}

export function keyRevoked(): Refusal {
  return new Refusal('This key is revoked and cannot be changed.', { reason: 'key_revoked' });
}

/**
 * Refuses a limit above the operator's ceiling or, without one, above the service's own limit; and
 * removing a limit that has a ceiling. A key keeps a higher limit that it has already.
 */
export function demandBelow(
  limits: KeyChange,
  set: Ceilings & Partial<Pick<KeyHead, 'rpm' | 'open_jobs'>>,
  bounds: Bounds,
): void {
  for (const name of boundedSettings) {
    const wanted = limits[name];
    const ceiling = set[ceilingOf[name]];
    if (wanted === undefined) continue;
    if (ceiling === null || (wanted !== null && wanted <= ceiling)) continue;
    const said = wordsOf(ceiling);
    throw new Refusal(
      `The operator has set ${name} to at most ${said}. You can lower it, but not raise or remove it.`,
      { reason: 'limit_of_operator', field: name, ceiling: said },
    );
  }
  for (const field of keysOf(bounds)) {
    const maximum = set[ceilingOf[field]] ?? Math.max(bounds[field], set[field] ?? 0);
    if ((limits[field] ?? 0) > maximum)
      throw new Refusal(`${field} can be at most ${maximum}. Ask the operator for more.`, {
        reason: 'limit_too_high',
        field,
        maximum,
      });
  }
}

/** Only money is a bigint here. */
function wordsOf(limit: number | bigint): string {
  return typeof limit === 'bigint' ? `${formatUsd(limit)} USD` : String(limit);
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
