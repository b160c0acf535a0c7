import * as operatorKeys from '../../db/operator-keys.ts';
import { createOperatorKey, revokeOperatorKey } from '../../operations/accounts/operator-key.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import { NewOperatorKey, Scope } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';

/** Keys for the operator's API. */

const OperatorKey = s.namedObject('OperatorKey', {
  operator_key_id: s.id(),
  name: s.text(),
  hint: s.text('First and last characters.'),
  scopes: s.list(Scope),
  created_by: s.text('The address of its maker, or "command line".'),
  maker_left: s.boolean('True: no operator has this address now.'),
  created_at: s.time(),
  revoked_at: s.nullable(s.time()),
  last_used_at: s.nullable(s.time()),
});

/** GET /operator/operator-keys: newest first, revoked ones too. */
export const list = operatorEndpoint(
  { query: s.form(s.pageQuery(50)), reply: s.pageOf(OperatorKey) },
  async ({ query }, { db }) => {
    const { cursor: below_id = null, limit } = query;
    const rows = await operatorKeys.list(db, { below_id, limit: limit + 1 });
    return pageFrom(rows, query, ({ id: operator_key_id, prefix, last4, ...row }) => {
      return { operator_key_id, hint: `${prefix}…${last4}`, ...row };
    });
  },
);

/** POST /operator-keys: the secret is shown only here. */
export const create = operatorAction(
  'operator_key.create',
  {
    body: s.form(NewOperatorKey),
    reply: s.object({ key: s.text('The secret.'), operator_key_id: s.id() }),
  },
  async ({ body, by }) => {
    const wanted = { name: body.name, scopes: body.scopes };
    return (db) => createOperatorKey(db, by, wanted);
  },
);

/** DELETE /operator-keys/:operator_key_id: revokes the key for good, from the next call on. */
export const revoke = operatorAction(
  'operator_key.revoke',
  { params: ['operator_key_id'], reply: s.object({ operator_key_id: s.id() }) },
  async ({ params }) => {
    const operator_key_id = requireId(params.operator_key_id);
    return (db) => revokeOperatorKey(db, operator_key_id);
  },
);
