import { ApiError } from '../../core/errors.ts';
import { unseen, unseenWords } from '../../core/account/name.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as refusals from '../../db/accounts/refusals.ts';
import {
  ceilingsOf,
  changeKey,
  endOverlap,
  makeKey,
  overlapMaxHours,
  revokeKey,
  rotateKey,
  studioKey,
} from '../../operations/accounts/key.ts';
import { idOf, pageFrom, timeToCome } from '../form.ts';
import {
  boolean,
  choice,
  form,
  id,
  integer,
  list as listOf,
  microUsd,
  named,
  nullable,
  object,
  optional,
  pageWith,
  pageQuery,
  text,
  time,
  type Static,
} from '../schema.ts';
import { endpoint } from '../session/endpoint.ts';
import { keyBounds } from '../session/studio.ts';
import type { Visit, WebDeps } from '../session/visit.ts';
import { badField } from '../validate.ts';

/** Keys on the customer's pages. A secret is shown only in the reply that makes it. */

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

const Key = named(
  'Key',
  object({
    key_id: id(),
    name: text(),
    hint: text('First and last characters.'),
    last4: text(),
    is_studio: boolean(),
    state: choice(['active', 'expired', 'revoked']),
    monthly_limit_usd_micro: nullable(microUsd()),
    ...Ceilings.properties,
    spent_usd_micro: microUsd('In this month (UTC), reservations included.'),
    reserved_usd_micro: microUsd(),
    resets_at: time(),
    rpm: nullable(integer()),
    open_jobs: nullable(integer()),
    open_requests: integer(),
    models: nullable(listOf(text())),
    created_at: time(),
    expires_at: nullable(time()),
    revoked_at: nullable(time()),
    previous_until: nullable(
      time('The time until which the previous secret (replaced at the last rotation) works.'),
    ),
    last_used_at: nullable(time()),
    previous_used_at: nullable(
      time('When the previous secret (replaced at the last rotation) was last used.'),
    ),
  }),
);

export const RefusedCalls = named(
  'RefusedCalls',
  object({ key_id: id(), name: text(), code: text(), calls: integer() }),
);

const NewKey = named('NewKey', object({ key: text('The secret.'), ...Key.properties }));

/** Settings that can change; null removes a limit. */
const settings = {
  monthly_limit_usd_micro: optional(nullable(microUsd())),
  expires_at: optional(nullable(time())),
  models: optional(nullable(listOf(text(), undefined, { minItems: 1, maxItems: 200 }))),
  rpm: optional(nullable(integer(undefined, { minimum: 1, maximum: perMinuteMax }))),
  open_jobs: optional(nullable(integer(undefined, { minimum: 1, maximum: perMinuteMax }))),
};
const name = text(undefined, { minLength: 1, maxLength: 100 });
export const KeySettings = form(settings);
export const NewKeySettings = form({ name, ...settings });

/**
 * GET /keys: newest first. `defaults` are the limits of a key that has none of its own, `ceilings`
 * what the operator has set for new keys, `refused` the refused calls of the last hour by key and
 * error code.
 */
export const list = endpoint(
  {
    query: object({ state: optional(choice(['active', 'all'])), ...pageQuery(50) }),
    reply: pageWith(Key, {
      studio: Key,
      defaults: object({ rpm: integer(), open_jobs: integer() }),
      ceilings: Ceilings,
      refused: listOf(RefusedCalls),
    }),
  },
  async ({ query, visit }, deps) => {
    const { db } = deps;
    const { account_id } = visit;
    const { state = 'active', cursor = null, limit } = query;
    const filter = { account_id, is_active: state === 'active', below_id: cursor };
    const rows = await keys.page(db, { ...filter, limit: limit + 1 });
    const bounds = keyBounds(deps);
    const studio = await keys.findByHash(db, await studioKey(db, account_id, bounds));
    return {
      ...pageFrom(rows, query, view),
      studio: view(studio!),
      defaults: bounds,
      ceilings: await ceilingsOf(db, account_id, bounds),
      refused: await refusals.ofLastHour(db, account_id),
    };
  },
);

/** GET /keys/{key_id} */
export const read = endpoint({ params: ['key_id'], reply: Key }, async ({ visit, params }, deps) =>
  view(await need(visit, params, deps)),
);

/** POST /keys */
export const create = endpoint(
  { body: NewKeySettings, reply: NewKey },
  async ({ visit, body, reply }, deps) => {
    const limits = limitsOf(body, null, deps);
    const bounds = keyBounds(deps);
    const wanted = {
      account_id: visit.account_id,
      name: checkName(body.name),
      monthly_limit_usd_micro: limits.monthly_limit_usd_micro ?? null,
      rpm: atMost('rpm', limits.rpm, bounds.rpm),
      open_jobs: atMost('open_jobs', limits.open_jobs, bounds.open_jobs),
      expires_at: limits.expires_at ?? null,
      models: limits.models ?? null,
    };
    const { key, key_id } = await makeKey(deps.db, wanted, bounds);
    reply.code(201);
    return { key, ...view((await keys.find(deps.db, visit.account_id, key_id))!) };
  },
);

/**
 * PATCH /keys/{key_id}: changes the given settings; null removes a limit that the account's people
 * set.
 */
export const change = endpoint(
  { params: ['key_id'], body: form({ name: optional(name), ...settings }), reply: Key },
  async ({ visit, params, body }, deps) => {
    const now = await need(visit, params, deps);
    await changeKey(deps.db, {
      key_id: now.id,
      bounds: keyBounds(deps),
      limits: limitsOf(body, now, deps),
      ...(body.name !== undefined && { name: checkName(body.name) }),
    });
    return view(await need(visit, params, deps));
  },
);

/** POST /keys/{key_id}/rotate: `last4` are the last characters of the secret to be replaced. */
export const rotate = endpoint(
  {
    params: ['key_id'],
    body: form({
      last4: text(undefined, { minLength: 4, maxLength: 4 }),
      overlap_hours: integer(undefined, { minimum: 0, maximum: overlapMaxHours }),
    }),
    reply: NewKey,
  },
  async ({ visit, params, body }, deps) => {
    const { id: key_id } = await need(visit, params, deps);
    const { key } = await rotateKey(deps.db, { key_id, ...body });
    return { key, ...view(await need(visit, params, deps)) };
  },
);

/** DELETE /keys/{key_id}/previous: ends the overlap of the last rotation now. */
export const dropPrevious = endpoint(
  { params: ['key_id'], reply: Key },
  async ({ visit, params }, deps) => {
    const { id: key_id } = await need(visit, params, deps);
    await endOverlap(deps.db, key_id);
    return view(await need(visit, params, deps));
  },
);

/** DELETE /keys/{key_id}: revokes the key for good, from the next call on. */
export const revoke = endpoint(
  { params: ['key_id'], reply: Key },
  async ({ visit, params }, deps) => {
    const { id: key_id } = await need(visit, params, deps);
    await revokeKey(deps.db, key_id);
    return view(await need(visit, params, deps));
  },
);

/** Throws `not_found` both for a key of another account and for one that never existed. */
async function need(
  visit: Visit,
  { key_id }: { key_id: string },
  { db }: WebDeps,
): Promise<keys.KeyRow> {
  const row = await keys.find(db, visit.account_id, idOf(key_id));
  if (!row) throw new ApiError('not_found');
  return row;
}

function view({ id: key_id, month, prefix, ...row }: keys.KeyRow) {
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
