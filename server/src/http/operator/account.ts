import { Readable } from 'node:stream';
import { hasReceipt } from '../../core/account/receipt.ts';
import { ApiError } from '../../core/errors.ts';
import { accountLines } from '../../db/account-export.ts';
import { findWithFigures, type FoundRow } from '../../db/accounts/account-search.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as keys from '../../db/accounts/keys.ts';
import { depositSums, movements as movementsOf, type Movement } from '../../ledger/statement.ts';
import type { Database } from '../../lib/sql/sql.ts';
import {
  changeOperator,
  changeKeysByApi,
  changePrice,
  changeStatus,
  logExport,
  ppmMax,
} from '../../operations/accounts/account.ts';
import { readCeilings } from '../../operations/accounts/key.ts';
import { OperatorRole } from '../schemas/operator.ts';
import { AccountKey, Ceilings, keyBounds, view as keyView } from '../keys.ts';
import { MovementKind } from '../dashboard/statement.ts';
import { ChainTransaction, Receipt, receiptFor, transactionOf } from '../dashboard/receipts.ts';
import { Role, SourceName, SourceSum } from '../schemas/account.ts';
import { runSum } from '../database-share.ts';
import type { CallDeps, PaymentDeps, ShareDeps } from '../deps.ts';
import { takeShare } from '../overload.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { accountFields, view } from './accounts.ts';
import { AccountPerson, peopleOf } from './members.ts';

/** One account, below /accounts/:account_id: its details, and what an operator may do to it. */

/** Keys of a page, and keys that the operator's API shows with their account. */
export const keysShown = 100;

export const OperatorAccount = s.namedObject('OperatorAccount', {
  ...accountFields,
  people: s.list(AccountPerson),
  key_ceilings: Ceilings,
  deposits: s.list(SourceSum, 'All its deposits, by their source.'),
  invitations: s.list(
    s.object({
      invitation_id: s.id(),
      email: s.text(),
      role: Role,
      operator_role: s.nullable(OperatorRole),
      expires_at: s.time(),
    }),
    'Open invitations.',
  ),
  keys: s.list(AccountKey, `The newest ${keysShown}, revoked ones too.`),
});

/** GET /operator/accounts/{account_id} */
export const read = operatorEndpoint(
  { params: ['account_id'], reply: OperatorAccount },
  async ({ req, params, reply }, deps: ShareDeps) => {
    const { db } = deps;
    const account = await requireAccountIn(params, db);
    const [key_ceilings, members, deposits, invited, keysOfAccount] = await Promise.all([
      readCeilings(db, account.id, keyBounds(deps)),
      peopleOf(db, account),
      runSum(req, reply, deps, () =>
        depositSums(db, { account_id: account.id, from: null, to: null }),
      ),
      invitations.listOpen(db, account.id),
      newestKeys(db, account.id, { limit: keysShown }),
    ]);
    return {
      ...view(account),
      people: members,
      key_ceilings,
      deposits,
      invitations: invited.map(({ id: invitation_id, ...row }) => ({ invitation_id, ...row })),
      keys: keysOfAccount.slice(0, keysShown).map(keyView),
    };
  },
);

/**
 * GET /operator/accounts/{account_id}/export: sent while it is read, after its row of the log is
 * written.
 */
export const exportAll = operatorEndpoint(
  { params: ['account_id'] },
  async ({ req, reply, params }, deps: ShareDeps) => {
    const { db, exports } = deps;
    const { id } = await requireAccountIn(params, db);
    reply
      .type('application/x-ndjson; charset=utf-8')
      .header('content-disposition', `attachment; filename="farebox-${id}.ndjson"`);
    if (req.method === 'HEAD') return reply.send();
    const { owner } = req;
    takeShare(exports, owner, 'export of an account under way', deps);
    const leave = () => exports.give(owner, 1);
    await logExport(db, req.operator.by, id).catch((error: unknown) => {
      leave();
      throw error;
    });
    const lines = Readable.from(accountLines(db, id), { highWaterMark: 1 });
    return reply.send(lines.once('close', leave));
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

const AccountMovement = s.namedObject('AccountMovement', {
  transfer_id: s.id(),
  kind: MovementKind,
  amount_usd_micro: s.signedMicroUsd(),
  change_usd_micro: s.signedMicroUsd(
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
});

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
      account_id: requireId(params.account_id),
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
    const { id: account_id } = await requireAccountIn(params, deps.db);
    return receiptFor(account_id, params.transfer_id, deps);
  },
);

const AccountStatus = s.namedObject('AccountStatus', { status: s.choice(['active', 'suspended']) });

/** POST /operator/accounts/{account_id}/suspend: refuses its keys from the next call on. */
export const suspend = operatorAction(
  'account.suspend',
  { params: ['account_id'], reply: AccountStatus },
  async ({ params, by }, deps: CallDeps) => {
    const account = await requireAccountIn(params, deps.db);
    return (db) => changeStatus(db, by, account, 'suspended');
  },
);

/** POST /operator/accounts/{account_id}/resume */
export const resume = operatorAction(
  'account.resume',
  { params: ['account_id'], reply: AccountStatus },
  async ({ params, by }, deps: CallDeps) => {
    const account = await requireAccountIn(params, deps.db);
    return (db) => changeStatus(db, by, account, 'active');
  },
);

const Price = s.object({ price_ppm: s.integer(undefined, { minimum: 0, maximum: ppmMax }) });

/**
 * PUT /operator/accounts/{account_id}/price: the share of every rate that the account pays from the
 * next call on, in millionths.
 */
export const price = operatorAction(
  'account.price',
  { params: ['account_id'], body: s.form(Price.properties), reply: Price },
  async ({ params, body: { price_ppm } }, deps: CallDeps) => {
    const account = await requireAccountIn(params, deps.db);
    return (db) => changePrice(db, account, price_ppm);
  },
);

const OperatorAccess = s.object({ is_operator: s.boolean() });

/** PUT /operator/accounts/{account_id}/operator: whether the account's owners run the service. */
export const operator = operatorAction(
  'account.operator',
  { params: ['account_id'], body: s.form(OperatorAccess.properties), reply: OperatorAccess },
  async ({ by, params, body: { is_operator } }, deps: CallDeps) => {
    const account = await requireAccountIn(params, deps.db);
    return (db) => changeOperator(db, by, account, is_operator);
  },
);

const KeysByApi = s.object({ keys_by_api: s.boolean() });

/**
 * PUT /operator/accounts/{account_id}/keys-by-api: whether keys of scope `keys` may manage the
 * account's keys.
 */
export const keysByApi = operatorAction(
  'account.keys_by_api',
  { params: ['account_id'], body: s.form(KeysByApi.properties), reply: KeysByApi },
  async ({ params, body: { keys_by_api } }, deps: CallDeps) => {
    const account = await requireAccountIn(params, deps.db);
    return (db) => changeKeysByApi(db, account, keys_by_api);
  },
);

/** The account that the path names. Throws `not_found`. */
export async function requireAccountIn(
  params: { account_id: string },
  db: Database,
): Promise<FoundRow> {
  const row = await findWithFigures(db, requireId(params.account_id));
  if (row) return row;
  throw new ApiError('not_found');
}
