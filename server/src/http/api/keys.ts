import * as keys from '../../db/accounts/keys.ts';
import {
  changeKey,
  createKey,
  findKey,
  findManaged,
  revokeKey,
} from '../../operations/accounts/key.ts';
import { runManaged } from '../../operations/accounts/key-actions.ts';
import type { CallDeps, CatalogDeps, KeyedRequest, RequestDeps, ShareDeps } from '../deps.ts';
import { keyedEndpoint } from '../endpoint.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import {
  ApiKey,
  changeOf,
  KeyChangeForm,
  keyBounds,
  NewKeyForm,
  settingsOf,
  withKeyShown,
  view,
  withSecret,
} from '../keys.ts';
import * as s from '../schemas/schema.ts';
import { readBody } from '../schemas/validate.ts';
import { readJsonForm } from '../json-form.ts';

/**
 * An account's keys, managed by a program with a key of scope `keys`. Keys of that scope are listed
 * here, but people make and change them on the pages. The studio's key is not shown.
 */

const askerOf = ({ caller }: KeyedRequest, deps: CallDeps) => {
  const { account_id, key_id } = caller;
  return { who: 'key', account_id, key_id, bounds: keyBounds(deps) } as const;
};

/** POST /keys */
export const create = keyedEndpoint(
  { body: NewKeyForm, reply: withSecret('NewApiKey', ApiKey) },
  async ({ req, reply, body }, deps: RequestDeps) => {
    const by = askerOf(req, deps);
    const { account_id } = by;
    const wanted = { account_id, name: body.name, ...settingsOf(body, null, deps) };
    reply.code(201);
    return runManaged(deps.db, by, 'key.create', async (db) => {
      const done = await createKey(db, by, wanted);
      return withKeyShown(db, done.answer.key_id, done);
    });
  },
);

const states = s.choice(
  ['active', 'all'],
  'Default `active`. `all`: expired and revoked keys too.',
);

/** GET /keys: newest first. */
export const list = keyedEndpoint(
  {
    query: s.form({ state: s.optional(states), ...s.pageQuery(50) }),
    reply: s.named('ApiKeyList', s.pageOf(ApiKey)),
  },
  async ({ req, query }, { db }) => {
    const { state = 'active', cursor = null, limit } = query;
    const { account_id } = req.caller;
    const filter = { account_id, is_active: state === 'active', below_id: cursor };
    return pageFrom(await keys.page(db, { ...filter, limit: limit + 1 }), query, view);
  },
);

/** GET /keys/{key_id} */
export const read = keyedEndpoint(
  { params: ['key_id'], reply: ApiKey },
  async ({ req, params }, deps: CallDeps) =>
    view(await findKey(deps.db, askerOf(req, deps), requireId(params.key_id))),
);

/** PATCH /keys/{key_id}: null removes a limit, and a limit that is left out stays. */
export const change = keyedEndpoint(
  { params: ['key_id'], rawBody: KeyChangeForm, reply: ApiKey },
  async ({ req, params }, deps: CatalogDeps & ShareDeps) => {
    const by = askerOf(req, deps);
    const now = await findManaged(deps.db, by, requireId(params.key_id));
    const wanted = changeOf(readBody(KeyChangeForm, await readJsonForm(req, deps)), now, deps);
    return runManaged(deps.db, by, 'key.change', async (db) =>
      withKeyShown(db, now.id, await changeKey(db, by, now, wanted)),
    );
  },
);

/** DELETE /keys/{key_id}: revokes the key for good, from the next call on. */
export const revoke = keyedEndpoint(
  { params: ['key_id'], reply: ApiKey },
  async ({ req, params }, deps: CallDeps) => {
    const by = askerOf(req, deps);
    const now = await findManaged(deps.db, by, requireId(params.key_id));
    // The reply to an earlier call may have been lost.
    if (now.revoked_at !== null) return view(now);
    return runManaged(deps.db, by, 'key.revoke', async (db) =>
      withKeyShown(db, now.id, await revokeKey(db, now)),
    );
  },
);
