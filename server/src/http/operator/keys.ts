import type { CallDeps, RequestDeps } from '../deps.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import {
  AccountKey,
  changeOf,
  KeyChangeForm,
  NewKeyForm,
  settingsOf,
  withKeyShown,
  view,
  withSecret,
} from '../keys.ts';
import * as s from '../schemas/schema.ts';
import { changeKey, createKey, findKey, revokeKey } from '../../operations/accounts/key.ts';
import { requireAccountIn, keysShown, newestKeys } from './account.ts';

/** Keys of accounts below /v1/operator. */

const by = { who: 'operator' } as const;

/** GET /operator/accounts/{account_id}/keys: newest first, revoked ones too. */
export const list = operatorEndpoint(
  {
    params: ['account_id'],
    query: s.form(s.pageQuery(keysShown)),
    reply: s.named('AccountKeyList', s.pageOf(AccountKey)),
  },
  async ({ params, query }, { db }) => {
    const { id } = await requireAccountIn(params, db);
    return pageFrom(await newestKeys(db, id, query), query, view);
  },
);

/** POST /operator/accounts/{account_id}/keys */
export const create = operatorAction(
  'key.create',
  {
    params: ['account_id'],
    body: NewKeyForm,
    reply: withSecret('NewAccountKey', AccountKey),
  },
  async ({ params, body, reply }, deps: RequestDeps) => {
    const account = await requireAccountIn(params, deps.db);
    const wanted = { account_id: account.id, name: body.name, ...settingsOf(body, null, deps) };
    reply.code(201);
    return async (db) => {
      const done = await createKey(db, by, wanted);
      return withKeyShown(db, done.answer.key_id, done);
    };
  },
);

/** PATCH /operator/keys/{key_id}: null removes a setting, and one that is left out stays. */
export const change = operatorAction(
  'key.change',
  { params: ['key_id'], body: KeyChangeForm, reply: AccountKey },
  async ({ params, body }, deps: RequestDeps) => {
    const key = await keyIn(params, deps);
    const wanted = changeOf(body, key, deps);
    return async (db) => withKeyShown(db, key.id, await changeKey(db, by, key, wanted));
  },
);

/** DELETE /operator/keys/{key_id}: revokes the key for good, from the next call on. */
export const revoke = operatorAction(
  'key.revoke',
  { params: ['key_id'], reply: AccountKey },
  async ({ params }, deps: CallDeps) => {
    const key = await keyIn(params, deps);
    return async (db) => withKeyShown(db, key.id, await revokeKey(db, key));
  },
);

/** The key that the path names. Throws `not_found`. */
function keyIn({ key_id }: { key_id: string }, { db }: CallDeps) {
  return findKey(db, by, requireId(key_id));
}
