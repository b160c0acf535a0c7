import { keyScopes } from '../../core/account/scope.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as refusals from '../../db/accounts/refusals.ts';
import {
  ceilingsOf,
  endOverlap,
  overlapMaxHours,
  revokeKey,
  rotateKey,
  studioKey,
} from '../../operations/accounts/key.ts';
import { pageFrom } from '../form.ts';
import { Ceilings, changeFrom, KeyChange, makeFrom, name, need, settings, view } from '../keys.ts';
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
} from '../schemas/schema.ts';
import { visitEndpoint } from '../endpoint.ts';
import { keyBounds } from '../session/studio.ts';

/** Keys on the customer's pages. A secret is shown only in the reply that makes it. */

const Key = named(
  'Key',
  object({
    key_id: id(),
    name: text(),
    hint: text('First and last characters.'),
    last4: text(),
    is_studio: boolean(),
    scope: choice(keyScopes, 'spend: runs models. keys: only manages the keys of scope spend.'),
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
    created_by_name: nullable(text('Name of the key that made it; null: no key did.')),
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

/**
 * GET /keys: newest first. `defaults` are the limits of a key that has no limits of its own.
 * `ceilings` are the operator's limits for new keys. `refused` counts the refused calls of the last
 * hour by key and error code.
 */
export const list = visitEndpoint(
  {
    query: object({ state: optional(choice(['active', 'all'])), ...pageQuery(50) }),
    reply: pageWith(Key, {
      studio: Key,
      defaults: object({ rpm: integer(), open_jobs: integer() }),
      ceilings: Ceilings,
      refused: listOf(RefusedCalls),
    }),
  },
  async ({ query, req }, deps) => {
    const { db } = deps;
    const { account_id } = req;
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
export const read = visitEndpoint(
  { params: ['key_id'], reply: Key },
  async ({ req, params }, deps) => view(await need(req, params, deps)),
);

/** POST /keys */
export const create = visitEndpoint(
  { body: form({ name, ...settings, scope: optional(choice(keyScopes)) }), reply: NewKey },
  async ({ req, body: { scope = 'spend', ...body }, reply }, deps) => {
    const { account_id } = req;
    const made = await makeFrom(body, { account_id, scope, created_by: null }, deps);
    reply.code(201);
    return made;
  },
);

/**
 * PATCH /keys/{key_id}: changes the given settings; null removes a limit that the account's people
 * set.
 */
export const change = visitEndpoint(
  { params: ['key_id'], body: KeyChange, reply: Key },
  async ({ req, params, body }, deps) => changeFrom(body, await need(req, params, deps), deps),
);

/** POST /keys/{key_id}/rotate: `last4` are the last characters of the secret to be replaced. */
export const rotate = visitEndpoint(
  {
    params: ['key_id'],
    body: form({
      last4: text(undefined, { minLength: 4, maxLength: 4 }),
      overlap_hours: integer(undefined, { minimum: 0, maximum: overlapMaxHours }),
    }),
    reply: NewKey,
  },
  async ({ req, params, body }, deps) => {
    const { id: key_id } = await need(req, params, deps);
    const { key } = await rotateKey(deps.db, { key_id, ...body });
    return { key, ...view(await need(req, params, deps)) };
  },
);

/** DELETE /keys/{key_id}/previous: ends the overlap of the last rotation now. */
export const dropPrevious = visitEndpoint(
  { params: ['key_id'], reply: Key },
  async ({ req, params }, deps) => {
    const { id: key_id } = await need(req, params, deps);
    await endOverlap(deps.db, key_id);
    return view(await need(req, params, deps));
  },
);

/** DELETE /keys/{key_id}: revokes the key for good, from the next call on. */
export const revoke = visitEndpoint(
  { params: ['key_id'], reply: Key },
  async ({ req, params }, deps) => {
    const { id: key_id } = await need(req, params, deps);
    await revokeKey(deps.db, key_id);
    return view(await need(req, params, deps));
  },
);
