import { hasReceipt } from '../../core/account/receipt.ts';
import { ApiError } from '../../core/errors.ts';
import { findWithFigures, type FoundRow } from '../../db/accounts/account-search.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as people from '../../db/accounts/people.ts';
import { depositSums, movements as movementsOf, type Movement } from '../../ledger/statement.ts';
import type { Database } from '../../lib/sql/sql.ts';
import {
  changeAccount,
  changeKeysByApi,
  changePrice,
  changeStatus,
  ppmMax,
} from '../../operations/accounts/account.ts';
import { ceilingsOf } from '../../operations/accounts/key.ts';
import type { Author } from '../../operations/operator-action.ts';
import { Refused } from '../../operations/refused.ts';
import { AccountKey, Ceilings, view as keyView } from '../keys.ts';
import { ChainTransaction, Receipt, receiptFor, transactionOf } from '../dashboard/receipts.ts';
import { Role, SourceName, SourceSum } from '../schemas/account.ts';
import { inSum } from '../database-share.ts';
import type { CallDeps, PaymentDeps, ShareDeps } from '../deps.ts';
import { idOf, pageFrom } from '../form.ts';
import * as s from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { keyBounds } from '../session/studio.ts';
import { accountFields, view } from './accounts.ts';

/** One account, below /accounts/:account_id: its details, and what an operator may do to it. */

const AccountPerson = named(
  'AccountPerson',
  object({
    person_id: id(),
    name: text(),
    email: text(),
    email_verified: boolean(),
    two_factor_enabled: boolean(),
    role: Role,
    seen_at: nullable(time()),
  }),
);

/** Keys of a page, and keys that the operator's API shows with their account. */
export const keysShown = 100;

export const OperatorAccount = s.named(
  'OperatorAccount',
  s.object({
    ...accountFields,
    people: s.list(AccountPerson),
    key_ceilings: Ceilings,
    deposits: list(SourceSum, 'All its deposits, by their source.'),
    invitations: list(
      object({ invitation_id: id(), email: text(), role: Role, expires_at: time() }),
      'Open invitations.',
    ),
    keys: s.list(AccountKey, `The newest ${keysShown}, revoked ones too.`),
  }),
);

/** GET /operator/accounts/{account_id} */
export const read = operatorEndpoint(
  { params: ['account_id'], reply: OperatorAccount },
  async ({ req, params, reply }, deps: ShareDeps) => {
    const { db } = deps;
    const account = await need(db, params);
    const [key_ceilings, members, deposits, invited, keysOfAccount] = await Promise.all([
      ceilingsOf(db, account.id, keyBounds(deps)),
      people.listOf(db, account.id),
      inSum(req, reply, deps, () =>
        depositSums(db, { account_id: account.id, from: null, to: null }),
      ),
      invitations.listOpen(db, account.id),
      newestKeys(db, account.id, { limit: keysShown }),
    ]);
    return {
      ...view(account),
      people: members.map(({ id: person_id, ...row }) => ({ person_id, ...row })),
      key_ceilings,
      deposits,
      invitations: invited.map(({ id: invitation_id, ...row }) => ({ invitation_id, ...row })),
      keys: keysOfAccount.slice(0, keysShown).map(keyView),
    };
  },
);

/** The keys of a page, and one more if there is a next page. */
export function newestKeys(
  db: Database,
  account_id: string,
  { cursor, limit }: { cursor?: string; limit: number },
): Promise<keys.KeyRow[]> {
  return keys.list(db, { account_id, below_id: cursor ?? null, limit: limit + 1 });
}

const AccountMovement = s.named(
  'AccountMovement',
  object({
    transfer_id: id(),
    kind: choice(['deposit', 'adjustment', 'reserve', 'charge', 'release', 'debt', 'expiry']),
    amount_usd_micro: signedMicroUsd(),
    change_usd_micro: signedMicroUsd(
      'Change of the available balance; for a charge, the part of the reservation that is given back.',
    ),
    available_after_usd_micro: s.microUsd(),
    request_id: s.nullable(s.id()),
    model_id: s.nullable(s.text()),
    source: s.nullable(SourceName),
    reference: s.nullable(s.text()),
    reason: s.nullable(s.text()),
    has_receipt: s.boolean(),
    transaction: s.nullable(ChainTransaction),
    created_at: s.time(),
  }),
);

const movementNumber = s.text('The `next_cursor` of the page before.', {
  pattern: '^\\d{1,18}$',
  rule: s.cursorRule,
});
/** Higher than the number of any movement. */
const lastSeq = 2n ** 63n - 1n;

/** GET /operator/accounts/{account_id}/statement: its cursor is the number of a movement. */
export const movements = operatorEndpoint(
  {
    params: ['account_id'],
    query: s.form({ cursor: s.optional(movementNumber) }),
    reply: s.pageOf(AccountMovement),
  },
  async ({ params, query: { cursor } }, deps: PaymentDeps) => {
    const limit = 50;
    const rows = await movementsOf(deps.db, {
      account_id: idOf(params.account_id),
      kinds: [],
      from_seq: 1n,
      below_seq: cursor === undefined ? lastSeq : BigInt(cursor),
      from: null,
      to: null,
      limit: limit + 1,
    });
    const movementView = (row: Movement) => ({
      ...row,
      transfer_id: row.id,
      has_receipt: hasReceipt(row.source),
      transaction: transactionOf(row, deps),
    });
    return pageFrom(rows, { limit }, movementView, ({ seq }) => String(seq));
  },
);

/** GET /operator/accounts/{account_id}/receipts/{transfer_id} */
export const receipt = operatorEndpoint(
  { params: ['account_id', 'transfer_id'], reply: Receipt },
  async ({ params }, deps) => {
    const { id: account_id } = await need(deps.db, params);
    return receiptFor(account_id, params.transfer_id, deps);
  },
);

const AccountStatus = s.named(
  'AccountStatus',
  s.object({ status: s.choice(['active', 'suspended']) }),
);

/** POST /operator/accounts/{account_id}/suspend: refuses its keys from the next call on. */
export const suspend = operatorAction(
  'account.suspend',
  { params: ['account_id'], reply: AccountStatus },
  async ({ params, by }, deps) => {
    const account = await need(deps.db, params);
    leaveOperators(by, account);
    await demandOther(deps.db, by, account.id);
    return (db) => changeStatus(db, account, 'suspended');
  },
);

/** POST /operator/accounts/{account_id}/resume */
export const resume = operatorAction(
  'account.resume',
  { params: ['account_id'], reply: AccountStatus },
  async ({ params, by }, deps) => {
    const account = await need(deps.db, params);
    leaveOperators(by, account);
    return (db) => changeStatus(db, account, 'active');
  },
);

/** No key decides who runs the service, because a key may leak. Throws `Refused`. */
export function leaveOperators(by: Author, { is_operator }: { is_operator: boolean }): void {
  // guard: keys-leave-operators
  if (by.person_id === null && is_operator)
    throw new Refused(
      'An operator key cannot suspend, resume or invite into an account whose owners run the service. Do it on the operator pages.',
      { reason: 'operator_account' },
    );
}

const Price = object({ price_ppm: integer(undefined, { minimum: 0, maximum: ppmMax }) });

/**
 * PUT /operator/accounts/{account_id}/price: the share of every rate that the account pays from the
 * next call on, in millionths.
 */
export const price = operatorAction(
  'account.price',
  { params: ['account_id'], body: form(Price.properties), reply: Price },
  async ({ params, body: { price_ppm } }, deps) => {
    const account = await need(deps.db, params);
    return (db) => changePrice(db, account, price_ppm);
  },
);

const OperatorAccess = s.object({ is_operator: s.boolean() });

/** PUT /operator: whether the account's owners run the service. */
export const operator = operatorAction(
  'account.operator',
  { params: ['account_id'], body: form(OperatorRight.properties), reply: OperatorRight },
  async ({ by, params, body: { is_operator } }, deps) => {
    const account = await need(deps.db, params);
    if (!is_operator) await demandOther(deps.db, by, account.id);
    return (db) =>
      changeAccount(db, account, { is_operator }, async () => {
        await accounts.setOperator(db, account.id, is_operator);
        // guard: earlier-invitations-end
        if (is_operator && !account.is_operator) await invitations.withdrawAll(db, [account.id]);
      });
  },
);

const KeysByApi = s.object({ keys_by_api: s.boolean() });

/**
 * PUT /operator/accounts/{account_id}/keys-by-api: whether keys of scope `keys` may manage the
 * account's keys.
 */
export const keysByApi = operatorAction(
  'account.keys_by_api',
  { params: ['account_id'], body: form(KeysByApi.properties), reply: KeysByApi },
  async ({ params, body: { keys_by_api } }, deps) => {
    const account = await need(deps.db, params);
    return (db) => changeKeysByApi(db, account, keys_by_api);
  },
);

/** Keeps operators from locking themselves out by mistake; another operator may do it. */
async function demandOther(db: Database, by: Author, account_id: string): Promise<void> {
  const own = by.person_id && (await people.membership(db, by.person_id, account_id));
  if (!own || own.role !== 'owner' || !own.is_operator) return;
  throw new Refused(
    'That would remove your own access to the operator pages. Another operator can do it.',
    {
      reason: 'own_console',
    },
  );
}

/** The account that the path names. Throws `not_found`. */
export async function need(db: Database, params: { account_id: string }): Promise<FoundRow> {
  const row = await findWithFigures(db, idOf(params.account_id));
  if (row) return row;
  throw new ApiError('not_found');
}
