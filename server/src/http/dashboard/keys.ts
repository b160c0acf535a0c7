import { keyScopes } from '../../core/account/scope.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as refusals from '../../db/accounts/refusals.ts';
import {
  readCeilings,
  changeKey,
  createKey,
  findKey,
  revokeKey,
  findOrMakeStudioKey,
} from '../../operations/accounts/key.ts';
import { endOverlap, overlapMaxHours, rotateKey } from '../../operations/accounts/key-rotation.ts';
import { sessionEndpoint } from '../endpoint.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import {
  Ceilings,
  changeOf,
  Key,
  KeyChangeForm,
  keyBounds,
  name,
  settings,
  settingsOf,
  withKeyShown,
  view,
  withSecret,
} from '../keys.ts';
import * as s from '../schemas/schema.ts';
import type { SessionRequest, WebDeps } from '../session/session-request.ts';

/** Keys on the customer's pages. A secret is shown only in the reply that makes it. */

export const RefusedCalls = s.namedObject('RefusedCalls', {
  key_id: s.id(),
  name: s.text(),
  code: s.text(),
  calls: s.integer(),
});

const NewKey = withSecret('NewKey', Key);

const askerOf = ({ account_id }: SessionRequest, deps: WebDeps) =>
  ({ who: 'people', account_id, bounds: keyBounds(deps) }) as const;

/** The key that the path names. Throws `not_found`. */
function keyIn(
  req: SessionRequest,
  { key_id }: { key_id: string },
  deps: WebDeps,
): Promise<keys.KeyRow> {
  return findKey(deps.db, askerOf(req, deps), requireId(key_id));
}

/**
 * GET /keys: newest first. `defaults` are the limits of a key that has no limits of its own.
 * `ceilings` are the operator's limits for new keys. `refused` counts the refused calls of the last
 * day by key and error code.
 */
export const list = sessionEndpoint(
  {
    query: s.form({ state: s.optional(s.choice(['active', 'all'])), ...s.pageQuery(50) }),
    reply: s.pageWith(Key, {
      studio: Key,
      defaults: s.object({ rpm: s.integer(), open_jobs: s.integer() }),
      ceilings: Ceilings,
      refused: s.list(RefusedCalls),
    }),
  },
  async ({ query, req }, deps) => {
    const { db } = deps;
    const { account_id } = req;
    const { state = 'active', cursor = null, limit } = query;
    const filter = { account_id, is_active: state === 'active', below_id: cursor };
    const rows = await keys.page(db, { ...filter, limit: limit + 1 });
    const bounds = keyBounds(deps);
    const studio = await keys.findByHash(db, await findOrMakeStudioKey(db, account_id, bounds));
    return {
      ...pageFrom(rows, query, view),
      studio: view(studio!),
      defaults: bounds,
      ceilings: await readCeilings(db, account_id, bounds),
      refused: await refusals.listLastDay(db, account_id),
    };
  },
);

/** GET /keys/{key_id} */
export const read = sessionEndpoint(
  { params: ['key_id'], reply: Key },
  async ({ req, params }, deps) => view(await keyIn(req, params, deps)),
);

/** POST /keys */
export const create = sessionEndpoint(
  { body: s.form({ name, ...settings, scope: s.optional(s.choice(keyScopes)) }), reply: NewKey },
  async ({ req, body, reply }, deps) => {
    const by = askerOf(req, deps);
    const { scope, name: wantedName } = body;
    const wanted = { account_id: by.account_id, name: wantedName, scope };
    const done = await createKey(deps.db, by, { ...wanted, ...settingsOf(body, null, deps) });
    reply.code(201);
    return (await withKeyShown(deps.db, done.answer.key_id, done)).answer;
  },
);

/**
 * PATCH /keys/{key_id}: changes the given settings; null removes a limit that the account's people
 * set.
 */
export const change = sessionEndpoint(
  { params: ['key_id'], body: KeyChangeForm, reply: Key },
  async ({ req, params, body }, deps) => {
    const now = await keyIn(req, params, deps);
    await changeKey(deps.db, askerOf(req, deps), now, changeOf(body, now, deps));
    return view(await keyIn(req, params, deps));
  },
);

/** POST /keys/{key_id}/rotate: `last4` are the last characters of the secret to be replaced. */
export const rotate = sessionEndpoint(
  {
    params: ['key_id'],
    body: s.form({
      last4: s.text(undefined, { minLength: 4, maxLength: 4 }),
      overlap_hours: s.integer(undefined, { minimum: 0, maximum: overlapMaxHours }),
    }),
    reply: NewKey,
  },
  async ({ req, params, body }, deps) => {
    const { id: key_id } = await keyIn(req, params, deps);
    const { key } = await rotateKey(deps.db, { key_id, ...body });
    return { key, ...view(await keyIn(req, params, deps)) };
  },
);

/** DELETE /keys/{key_id}/previous: ends the overlap of the last rotation now. */
export const dropPrevious = sessionEndpoint(
  { params: ['key_id'], reply: Key },
  async ({ req, params }, deps) => {
    const { id: key_id } = await keyIn(req, params, deps);
    await endOverlap(deps.db, key_id);
    return view(await keyIn(req, params, deps));
  },
);

/** DELETE /keys/{key_id}: revokes the key for good, from the next call on. */
export const revoke = sessionEndpoint(
  { params: ['key_id'], reply: Key },
  async ({ req, params }, deps) => {
    await revokeKey(deps.db, await keyIn(req, params, deps));
    return view(await keyIn(req, params, deps));
  },
);
