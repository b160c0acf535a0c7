import { changeStatus } from '../../../operations/accounts/account.ts';
import { Refused } from '../../../operations/refused.ts';
import { choice, form, named, object, optional, pageOf } from '../../schemas/schema.ts';
import { detailOf, keysShown, need, OperatorAccount, pageOfKeys } from '../account.ts';
import {
  AccountQuery,
  findAccounts,
  FoundAccount,
  MadeAccount,
  NewAccount,
  openAccount,
} from '../accounts.ts';
import { operatorAction, operatorEndpoint } from '../../endpoint.ts';

/** Accounts below /v1/operator. */

/** GET /operator/accounts */
export const list = operatorEndpoint(
  { query: form(AccountQuery.properties), reply: pageOf(FoundAccount) },
  ({ query }, { db }) => findAccounts(query, db),
);

/** GET /operator/accounts/{account_id} */
export const find = operatorEndpoint(
  { params: ['account_id'], reply: OperatorAccount },
  async ({ params, reply }, deps) => {
    const [account, keys] = await Promise.all([
      detailOf(params, reply, deps),
      pageOfKeys(params, { limit: keysShown }, deps.db),
    ]);
    return { ...account, keys: keys.data };
  },
);

/** POST /operator/accounts */
export const create = operatorAction(
  {
    body: form({ email: NewAccount.email, invite: optional(NewAccount.invite) }),
    reply: MadeAccount,
  },
  async ({ body, by, reply }, deps) => {
    const { email, invite = false } = body;
    reply.code(201);
    return (db) => openAccount(db, { email, invite }, by, deps);
  },
);

const AccountStatus = named('AccountStatus', object({ status: choice(['active', 'suspended']) }));
const of = { params: ['account_id'], reply: AccountStatus } as const;

/** POST /operator/accounts/{account_id}/suspend: refuses its keys from the next call on. */
export const suspend = operatorAction(of, async ({ params }, deps) => {
  const account = await need(deps.db, params);
  // guard: operators-not-locked-out
  if (account.is_operator) {
    throw new Refused(
      'An operator key cannot suspend an account whose owners run the service. Do it on the operator pages.',
      { reason: 'operator_account' },
    );
  }
  return (db) => changeStatus(db, account, 'suspended');
});

/** POST /operator/accounts/{account_id}/resume */
export const resume = operatorAction(of, async ({ params }, deps) => {
  const account = await need(deps.db, params);
  return (db) => changeStatus(db, account, 'active');
});
