import { ApiError } from '../../core/errors.ts';
import { keyScopes } from '../../core/account/scope.ts';
import * as keys from '../../db/accounts/keys.ts';
import { keysOf } from '../../lib/records.ts';
import { endKey, runManaged } from '../../operations/accounts/key-actions.ts';
import { replaced } from '../database-share.ts';
import type { HttpDeps, KeyedRequest } from '../deps.ts';
import { pageFrom } from '../form.ts';
import { changeFrom, KeyChange, makeFrom, need as needOwn, NewKeySettings, view } from '../keys.ts';
import {
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
  pageOf,
  pageQuery,
  type Static,
  text,
  time,
} from '../schemas/schema.ts';
import { readForm } from '../session/visit.ts';
import { readBody } from '../schemas/validate.ts';
import { keyedEndpoint } from '../endpoint.ts';

/**
 * An account's keys, managed by a program with a key of scope `keys`. Keys of that scope are listed
 * here, but people make and change them on the pages. The studio's key is not shown.
 */

const ApiKey = named(
  'ApiKey',
  object({
    key_id: id('Its id, which never changes.'),
    name: text('Your name for it.'),
    hint: text('First and last characters of its secret.'),
    scope: choice(
      keyScopes,
      'spend: it runs models. keys: it manages the keys of scope spend, and nothing else.',
    ),
    state: choice(['active', 'expired', 'revoked'], 'Only an active key works.'),
    monthly_limit_usd_micro: nullable(
      microUsd('The most that it may charge and reserve in a month (UTC). Null: unlimited.'),
    ),
    spent_usd_micro: microUsd('In this month (UTC), reservations included.'),
    reserved_usd_micro: microUsd('Held by its open requests.'),
    resets_at: time('When the next month begins.'),
    rpm: nullable(integer("Calls a minute. Null: the service's usual limit.")),
    open_jobs: nullable(integer("Open jobs at once. Null: the service's usual limit.")),
    open_requests: integer('Its open jobs now.'),
    models: nullable(listOf(text(), 'The only models that it may use. Null: all.')),
    created_at: time('When it was made.'),
    created_by: nullable(
      id('The key of scope keys that made it. Null: a person or the operator did.'),
    ),
    expires_at: nullable(time('When it stops working. Null: never.')),
    revoked_at: nullable(time('When it was revoked.')),
    last_used_at: nullable(time('Its newest call.')),
  }),
);

const NewApiKey = named(
  'NewApiKey',
  object({ key: text('The secret, shown only here.'), ...ApiKey.properties }),
);

/** POST /keys */
export const create = keyedEndpoint(
  { body: NewKeySettings, reply: NewApiKey },
  async ({ req, reply, body }, deps) => {
    const { account_id, key_id: created_by } = req.caller;
    const of = { account_id, scope: 'spend', created_by } as const;
    reply.code(201);
    return runManaged(deps.db, req.caller, 'key.create', async (db) => {
      const answer = await makeFrom(body, of, replaced(deps, { db }));
      const { name: target, ...limits } = body;
      return { answer, target, details: { key_id: answer.key_id, ...limits } };
    });
  },
);

const states = choice(['active', 'all'], 'Default `active`. `all`: expired and revoked keys too.');

/** GET /keys: newest first. */
export const list = keyedEndpoint(
  {
    query: form({ state: optional(states), ...pageQuery(50) }),
    reply: named('ApiKeyList', pageOf(ApiKey)),
  },
  async ({ req, query }, { db }) => {
    const { state = 'active', cursor = null, limit } = query;
    const { account_id } = req.caller;
    const filter = { account_id, is_active: state === 'active', below_id: cursor };
    return pageFrom(await keys.page(db, { ...filter, limit: limit + 1 }), query, view);
  },
);

/** GET /keys/{key_id} */
export const read = keyedEndpoint({ params: ['key_id'], reply: ApiKey }, async ({ req }, deps) =>
  view(await need(req, deps)),
);

/** PATCH /keys/{key_id}: null removes a limit, and a limit that is left out stays. */
export const change = keyedEndpoint(
  { params: ['key_id'], rawBody: KeyChange, reply: ApiKey },
  async ({ req }, deps) => {
    const now = await needManaged(req, deps);
    const body = readBody(KeyChange, await readForm(req, deps));
    return runManaged(deps.db, req.caller, 'key.change', async (db) => {
      const answer = await changeFrom(body, now, replaced(deps, { db }));
      const details = { key_id: now.id, ...body, before: valuesOf(now, body) };
      return { answer, target: now.name, details };
    });
  },
);

/** DELETE /keys/{key_id}: revokes the key for good, from the next call on. */
export const revoke = keyedEndpoint(
  { params: ['key_id'], reply: ApiKey },
  async ({ req }, deps) => {
    const now = await needManaged(req, deps);
    // The reply to an earlier call may have been lost.
    if (now.revoked_at === null)
      await runManaged(deps.db, req.caller, 'key.revoke', (db) => endKey(db, now));
    return view(await need(req, deps));
  },
);

/** The present values of the given fields, with amounts as strings. */
function valuesOf(now: keys.KeyRow, given: Static<typeof KeyChange>): object {
  const { monthly_limit_usd_micro: monthly, ...row } = now;
  const values = { ...row, monthly_limit_usd_micro: monthly?.toString() ?? null };
  return Object.fromEntries(keysOf(given).map((field) => [field, values[field]]));
}

type Named = KeyedRequest & { params: { key_id: string } };

/** Throws `not_found` also for the studio's key, whose limits are set by people. */
async function need({ caller, params }: Named, deps: HttpDeps): Promise<keys.KeyRow> {
  const row = await needOwn(caller, params, deps);
  // guard: studio-key-unmanaged
  if (row.is_studio) throw new ApiError('not_found');
  return row;
}

/** Throws `forbidden` for a key of scope `keys`: not even the caller's own can be changed. */
async function needManaged(req: Named, deps: HttpDeps): Promise<keys.KeyRow> {
  const row = await need(req, deps);
  // guard: managers-unmanaged
  if (row.scope === 'keys') {
    throw new ApiError('forbidden', {
      message: 'This key manages keys itself. People change and revoke it in the dashboard.',
    });
  }
  return row;
}
