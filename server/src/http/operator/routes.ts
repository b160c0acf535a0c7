import type { RouteDocs } from '../docs/route-docs.ts';
import { operate, operator, row, type Row } from '../row.ts';
import * as oneAccount from './account.ts';
import * as accounts from './accounts.ts';
import * as attention from './attention.ts';
import * as catalog from './catalog.ts';
import * as chains from './chains.ts';
import * as deposits from './deposits.ts';
import * as events from './events.ts';
import * as invitations from './invitations.ts';
import * as keys from './keys.ts';
import * as log from './log.ts';
import * as bookings from './money.ts';
import * as operatorKeys from './operator-keys.ts';
import * as overview from './overview.ts';
import * as requestLists from '../requests/list.ts';
import * as queue from '../requests/queue.ts';
import * as requests from '../requests/read.ts';
import * as unknownOutcomes from '../requests/unknown-outcomes.ts';
import * as transfers from './transfers.ts';
import * as upstreams from './upstreams.ts';
import * as usage from './usage.ts';
import * as vouchers from './vouchers.ts';

const [read, money] = [operator('read'), operator('money')];
const [manage, manageKeys] = [operator('accounts'), operator('keys')];
const account = '/accounts/:account_id';

/**
 * The operator's API: below /v1/operator with an operator key of this scope, and below
 * /api/operator with the session of an operator, who has every scope.
 */
export const operatorCalls: Row[] = [
  row(read, 'GET', '/accounts', accounts.list, 'listAccounts'),
  row(manage, 'POST', '/accounts', accounts.create, {
    ...made('createAccount'),
    errors: ['invalid_input', 'idempotency_conflict'],
  }),
  row(read, 'GET', account, oneAccount.read, 'readAccount'),
  row(money, 'POST', `${account}/credits`, bookings.credit, booked('creditAccount')),
  row(money, 'POST', `${account}/adjustments`, bookings.adjust, booked('adjustAccount')),
  row(manage, 'POST', `${account}/suspend`, oneAccount.suspend, 'suspendAccount'),
  row(manage, 'POST', `${account}/resume`, oneAccount.resume, 'resumeAccount'),
  row(manage, 'PUT', `${account}/price`, oneAccount.price, 'setAccountPrice'),
  row(manage, 'PUT', `${account}/keys-by-api`, oneAccount.keysByApi, 'setKeysByApi'),
  row(read, 'GET', `${account}/statement`, oneAccount.movements, 'readStatement'),
  row(read, 'GET', `${account}/keys`, keys.list, 'listKeys'),
  row(manageKeys, 'POST', `${account}/keys`, keys.create, made('createKey')),
  row(manageKeys, 'PATCH', '/keys/:key_id', keys.change, 'changeKey'),
  row(manageKeys, 'DELETE', '/keys/:key_id', keys.revoke, 'revokeKey'),
  row(read, 'GET', '/requests', requestLists.listAll, searched('listAllRequests')),
  row(money, 'POST', '/requests/:request_id/refunds', bookings.refund, booked('refundRequest')),
  row(read, 'GET', '/requests/:request_id', requests.readAny, 'readAnyRequest'),
  row(read, 'GET', '/requests/:request_id/input', requests.readInput, 'readRequestInput'),
  row(read, 'GET', '/transfers', transfers.list, searched('listTransfers')),
  row(read, 'GET', '/usage', usage.list, 'readUsage'),
  row(read, 'GET', '/events', events.list, 'listEvents'),
  row(read, 'GET', '/references', bookings.reference, 'findReference'),
  row(read, 'GET', '/vouchers', vouchers.list, 'listVouchers'),
  row(money, 'POST', '/vouchers', vouchers.create, made('createVouchers')),
  row(money, 'POST', '/vouchers/:voucher_id/void', vouchers.cancel, 'voidVoucher'),
  row(read, 'GET', '/invitations', invitations.list, 'listSignUpInvitations'),
  row(manage, 'POST', '/invitations', invitations.create, {
    ...made('createSignUpInvitation'),
    errors: ['invalid_input'],
  }),
  row(
    manage,
    'DELETE',
    '/invitations/:invitation_id',
    invitations.withdraw,
    'withdrawSignUpInvitation',
  ),
  row(read, 'GET', '/log', log.list, searched('readLog')),
];

/** Calls that only the session of an operator can make: reads, and actions that are logged. */
export const consoleCalls: Row[] = [
  row(operate, 'GET', '/overview', overview.overview),
  row(operate, 'GET', '/attention', attention.list),
  row(operate, 'GET', '/accounts/:account_id/receipts/:transfer_id', oneAccount.receipt),
  row(operate, 'GET', '/operator-keys', operatorKeys.list),
  row(operate, 'GET', '/chains', chains.list),
  row(operate, 'GET', '/chain-sums', chains.sums),
  row(operate, 'GET', '/chain-deposits', deposits.list),
  row(operate, 'GET', '/catalog', catalog.list),
  row(operate, 'GET', '/catalog/row', catalog.read),
  row(operate, 'GET', '/upstreams', upstreams.list),
  row(operate, 'GET', '/queue', queue.depth),
  row(operate, 'GET', '/queue/requests', queue.list),
  row(operate, 'GET', '/unknown', unknownOutcomes.list),
  row(operate, 'POST', '/audit', overview.prove),
  row(operate, 'PUT', '/accounts/:account_id/operator', oneAccount.operator),
  row(operate, 'POST', '/accounts/:account_id/invitations', oneAccount.inviteInto),
  row(operate, 'POST', '/accounts/:account_id/people/:person_id/reset', oneAccount.reset),
  row(operate, 'POST', '/accounts/:account_id/people/:person_id/email', oneAccount.setEmail),
  row(operate, 'POST', '/operator-keys', operatorKeys.create),
  row(operate, 'DELETE', '/operator-keys/:operator_key_id', operatorKeys.revoke),
  row(operate, 'POST', '/catalog/row/stop', catalog.stop),
  row(operate, 'POST', '/catalog/row/resume', catalog.resume),
  row(operate, 'POST', '/chains/:chain/resume', chains.resume),
  row(operate, 'POST', '/chains/:chain/rescan', chains.rescan),
  row(operate, 'POST', '/chain-deposits/:deposit_id/credit', deposits.credit),
  row(operate, 'POST', '/chain-deposits/:deposit_id/ignore', deposits.ignore),
  row(operate, 'POST', '/upstreams/:upstream/wake', upstreams.wake),
  row(operate, 'POST', '/upstreams/:upstream/test', upstreams.test),
  row(operate, 'POST', '/queue/requests/:request_id/cancel', queue.cancel),
  row(operate, 'POST', '/unknown/:request_id/resolve', unknownOutcomes.resolve),
  row(operate, 'POST', '/unknown/resolve', unknownOutcomes.resolveMany),
];

/** The calls of the operator's pages, below /api/operator. */
export const operatorRoutes: Row[] = [
  ...operatorCalls.map(({ method, path, shapes, handle }) =>
    row(operate, method, path, { shapes, handle }),
  ),
  ...consoleCalls,
];

function made(operationId: string): RouteDocs {
  return { operationId, replies: { 201: {} } };
}

/** 200: it was booked before. */
function booked(operationId: string): RouteDocs {
  return { operationId, replies: { 200: {}, 201: {} }, errors: ['idempotency_conflict'] };
}

/** A list with a filter that names a single account or request, which may not exist. */
function searched(operationId: string): RouteDocs {
  return { operationId, errors: ['not_found'] };
}
