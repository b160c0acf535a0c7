import { ApiError } from '../../../core/errors.ts';
import * as keys from '../../../db/accounts/keys.ts';
import { addKey, changeLimits, endKey } from '../../../operations/accounts/key-actions.ts';
import { checkName, KeySettings, limitsOf, NewKeySettings } from '../../keys.ts';
import { idOf } from '../../form.ts';
import type { HttpDeps } from '../../deps.ts';
import { named, object, text } from '../../schemas/schema.ts';
import { AccountKey, keysPath, keyView, need as needAccount, pageOfKeys } from '../account.ts';
import { operatorAction, operatorEndpoint } from '../../endpoint.ts';

/** Keys of accounts below /v1/operator. */

const NewAccountKey = named(
  'NewAccountKey',
  object({ key: text('The key itself. It is shown only here.'), ...AccountKey.properties }),
);

/** GET /operator/accounts/{account_id}/keys */
export const list = operatorEndpoint(keysPath, ({ params, query }, { db }) =>
  pageOfKeys(params, query, db),
);

/** POST /operator/accounts/{account_id}/keys */
export const create = operatorAction(
  { params: ['account_id'], body: NewKeySettings, reply: NewAccountKey },
  async ({ params, body, reply }, deps) => {
    const { id: account_id } = await needAccount(deps.db, params);
    const name = checkName(body.name);
    const none = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
    const limits = { ...none, ...limitsOf(body, null, deps) };
    reply.code(201);
    return async (db) => {
      const done = await addKey(db, { account_id, name, ...limits });
      const { key, key_id } = done.answer;
      return { ...done, answer: { key, ...keyView((await keys.findAny(db, key_id))!) } };
    };
  },
);

/** PATCH /operator/keys/{key_id}: null removes a limit, and a limit that is left out stays. */
export const change = operatorAction(
  { params: ['key_id'], body: KeySettings, reply: AccountKey },
  async ({ params, body }, deps) => {
    const key = await need(params, deps);
    const wanted = limitsOf(body, key, deps);
    return async (db) => {
      const done = await changeLimits(db, key, wanted);
      return { ...done, answer: keyView((await keys.findAny(db, key.id))!) };
    };
  },
);

/** DELETE /operator/keys/{key_id}: revokes the key for good, from the next call on. */
export const revoke = operatorAction(
  { params: ['key_id'], reply: AccountKey },
  async ({ params }, deps) => {
    const key = await need(params, deps);
    return async (db) => {
      const done = await endKey(db, key);
      return { ...done, answer: keyView((await keys.findAny(db, key.id))!) };
    };
  },
);

async function need({ key_id }: { key_id: string }, { db }: HttpDeps): Promise<keys.KeyRow> {
  const row = await keys.findAny(db, idOf(key_id));
  if (!row) throw new ApiError('not_found');
  return row;
}
