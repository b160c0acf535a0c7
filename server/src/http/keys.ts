import { ApiError } from '../core/errors.ts';
import { unseen, unseenWords } from '../core/account/name.ts';
import type { KeyScope } from '../core/account/scope.ts';
import * as keys from '../db/accounts/keys.ts';
import { changeKey, makeKey } from '../operations/accounts/key.ts';
import type { HttpDeps } from './deps.ts';
import { idOf, timeToCome } from './form.ts';
import {
  amountFromZero,
  form,
  integer,
  list as listOf,
  microUsd,
  named,
  nullable,
  object,
  optional,
  text,
  time,
  type Static,
} from './schemas/schema.ts';
import { badField } from './schemas/validate.ts';
import { keyBounds } from './session/studio.ts';
import type { Visit, WebDeps } from './session/visit.ts';

/** Keys, as the API, the dashboard and the console read and show them. */

const perMinuteMax = 1_000_000;

export const Ceilings = named(
  'KeyCeilings',
  object(
    {
      monthly_ceiling_usd_micro: nullable(microUsd()),
      rpm_ceiling: nullable(integer()),
      open_jobs_ceiling: nullable(integer()),
    },
    { description: "The operator's limits; people may set lower ones. Null: unlimited." },
  ),
);

/** Settings that can change; null removes a limit. */
export const settings = {
  monthly_limit_usd_micro: optional(nullable(amountFromZero())),
  expires_at: optional(nullable(time())),
  models: optional(nullable(listOf(text(), undefined, { minItems: 1, maxItems: 200 }))),
  rpm: optional(nullable(integer(undefined, { minimum: 1, maximum: perMinuteMax }))),
  open_jobs: optional(nullable(integer(undefined, { minimum: 1, maximum: perMinuteMax }))),
};
export const name = text(undefined, { minLength: 1, maxLength: 100 });
export const KeySettings = form(settings);
export const NewKeySettings = form({ name, ...settings });
export const KeyChange = form({ name: optional(name), ...settings });

/** Makes a key. `created_by`: the key that asks for it, or null for a person. */
export async function makeFrom(
  body: Static<typeof NewKeySettings>,
  of: { account_id: string; scope: KeyScope; created_by: string | null },
  deps: HttpDeps,
) {
  const limits = limitsOf(body, null, deps);
  const bounds = keyBounds(deps);
  const wanted = {
    ...of,
    name: checkName(body.name),
    monthly_limit_usd_micro: limits.monthly_limit_usd_micro ?? null,
    rpm: atMost('rpm', limits.rpm, bounds.rpm),
    open_jobs: atMost('open_jobs', limits.open_jobs, bounds.open_jobs),
    expires_at: limits.expires_at ?? null,
    models: limits.models ?? null,
  };
  const { key, key_id } = await makeKey(deps.db, wanted, bounds);
  return { key, ...view((await keys.find(deps.db, of.account_id, key_id))!) };
}

export async function changeFrom(
  { name: newName, ...given }: Static<typeof KeyChange>,
  now: keys.KeyRow,
  deps: HttpDeps,
) {
  await changeKey(deps.db, {
    key_id: now.id,
    bounds: keyBounds(deps),
    limits: limitsOf(given, now, deps),
    ...(newName !== undefined && { name: checkName(newName) }),
  });
  return view((await keys.find(deps.db, now.account_id, now.id))!);
}

/** Throws `not_found` for a key of another account, and for a key that never existed. */
export async function need(
  { account_id }: Pick<Visit, 'account_id'>,
  { key_id }: { key_id: string },
  { db }: Pick<HttpDeps, 'db'>,
): Promise<keys.KeyRow> {
  const row = await keys.find(db, account_id, idOf(key_id));
  if (!row) throw new ApiError('not_found');
  return row;
}

export function view({ id: key_id, month, prefix, ...row }: keys.KeyRow) {
  const [year, monthOfYear] = month.split('-').map(Number);
  const resets_at = new Date(Date.UTC(year!, monthOfYear!));
  return { key_id, hint: `${prefix}…${row.last4}`, ...row, resets_at };
}

export function checkName(given: string): string {
  const trimmed = given.trim();
  if (trimmed !== '' && !unseen.test(trimmed)) return trimmed;
  throw badField('name', `1 to 100 characters on one line, ${unseenWords}`, {
    reason: 'name_invalid',
    max_length: 100,
  });
}

/** The limits that a call gives: undefined leaves a limit unchanged, null removes it. */
export function limitsOf(
  given: Static<typeof KeySettings>,
  now: keys.KeyRow | null,
  deps: Pick<WebDeps, 'catalog'>,
): keys.Limits {
  const { monthly_limit_usd_micro: limit, expires_at, models, ...counts } = given;
  return {
    ...counts,
    ...(limit !== undefined && { monthly_limit_usd_micro: limit === null ? null : BigInt(limit) }),
    ...(expires_at !== undefined && { expires_at: timeToCome(expires_at, 'expires_at') }),
    ...(models !== undefined && { models: models && checkModels(models, now?.models ?? [], deps) }),
  };
}

/** Returns the value if it is within the limit; only the operator can give more. */
function atMost(field: string, value: number | null | undefined, most: number): number | null {
  if (value === undefined || value === null) return null;
  if (value <= most) return value;
  throw badField(field, `at most ${most}; ask the operator for more`, {
    reason: 'limit_too_high',
    field,
    maximum: most,
  });
}

/**
 * Each id must be in the catalog or already allowed for the key: a model may be away for a while.
 */
function checkModels(models: string[], kept: string[], deps: Pick<WebDeps, 'catalog'>): string[] {
  const known = deps.catalog().models;
  for (const [i, model] of models.entries())
    if (!known.has(model) && !kept.includes(model))
      throw badField(`models[${i}]`, 'the id of a model, as GET /v1/models lists it', {
        reason: 'model_unknown',
        model,
      });
  return [...new Set(models)];
}
