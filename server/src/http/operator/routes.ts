import * as docs from '../docs/index.ts';
import { operator, person, row, type Row } from '../row.ts';
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
  row(read, 'GET', '/accounts', accounts.list, docs.listAccounts),
  row(manage, 'POST', '/accounts', accounts.create('account.create'), docs.createAccount),
  row(read, 'GET', account, oneAccount.read, docs.readAccount),
  row(money, 'POST', `${account}/credits`, bookings.credit('account.credit'), docs.credit),
  row(money, 'POST', `${account}/adjustments`, bookings.adjust('account.adjust'), docs.adjust),
  row(manage, 'POST', `${account}/suspend`, oneAccount.suspend('account.suspend'), docs.suspend),
  row(manage, 'POST', `${account}/resume`, oneAccount.resume('account.resume'), docs.resume),
  row(manage, 'PUT', `${account}/price`, oneAccount.price('account.price'), docs.setPrice),
  row(
    manage,
    'PUT',
    `${account}/keys-by-api`,
    oneAccount.keysByApi('account.keys_by_api'),
    docs.setKeysByApi,
  ),
  row(read, 'GET', `${account}/statement`, oneAccount.movements, docs.readStatement),
  row(read, 'GET', `${account}/keys`, keys.list, docs.listKeys),
  row(manageKeys, 'POST', `${account}/keys`, keys.create('key.create'), docs.createKey),
  row(manageKeys, 'PATCH', '/keys/:key_id', keys.change('key.limits'), docs.changeKey),
  row(manageKeys, 'DELETE', '/keys/:key_id', keys.revoke('key.revoke'), docs.revokeKey),
  row(read, 'GET', '/requests', requestLists.listAll, docs.listAllRequests),
  row(
    money,
    'POST',
    '/requests/:request_id/refunds',
    bookings.refund('request.refund'),
    docs.refund,
  ),
  row(read, 'GET', '/requests/:request_id', requests.readAny, docs.readAnyRequest),
  row(read, 'GET', '/requests/:request_id/input', requests.readInput, docs.readInput),
  row(read, 'GET', '/transfers', transfers.list, docs.listTransfers),
  row(read, 'GET', '/usage', usage.list, docs.readUsage),
  row(read, 'GET', '/events', events.list, docs.listEvents),
  row(read, 'GET', '/references', bookings.reference, docs.findReference),
  row(read, 'GET', '/vouchers', vouchers.list, docs.listVouchers),
  row(money, 'POST', '/vouchers', vouchers.create('voucher.create'), docs.createVouchers),
  row(
    money,
    'POST',
    '/vouchers/:voucher_id/void',
    vouchers.cancel('voucher.void'),
    docs.voidVoucher,
  ),
  row(read, 'GET', '/invitations', invitations.list, docs.listInvitations),
  row(
    manage,
    'POST',
    '/invitations',
    invitations.create('invitation.create'),
    docs.createInvitation,
  ),
  row(
    manage,
    'DELETE',
    '/invitations/:invitation_id',
    invitations.withdraw('invitation.withdraw'),
    docs.withdrawInvitation,
  ),
  row(read, 'GET', '/log', log.list, docs.readLog),
];

const operate = person('operate');

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
  row(operate, 'POST', '/audit', overview.prove('books.prove')),
  row(operate, 'PUT', '/accounts/:account_id/operator', oneAccount.operator('account.operator')),
  row(
    operate,
    'POST',
    '/accounts/:account_id/invitations',
    oneAccount.inviteInto('account.invite'),
  ),
  row(
    operate,
    'POST',
    '/accounts/:account_id/people/:person_id/reset',
    oneAccount.reset('person.reset'),
  ),
  row(
    operate,
    'POST',
    '/accounts/:account_id/people/:person_id/email',
    oneAccount.setEmail('person.email'),
  ),
  row(operate, 'POST', '/operator-keys', operatorKeys.create('operator_key.create')),
  row(
    operate,
    'DELETE',
    '/operator-keys/:operator_key_id',
    operatorKeys.revoke('operator_key.revoke'),
  ),
  row(operate, 'POST', '/catalog/row/stop', catalog.stop('model.stop')),
  row(operate, 'POST', '/catalog/row/resume', catalog.resume('model.resume')),
  row(operate, 'POST', '/chains/:chain/resume', chains.resume('chain.resume')),
  row(operate, 'POST', '/chains/:chain/rescan', chains.rescan('chain.rescan')),
  row(operate, 'POST', '/chain-deposits/:deposit_id/credit', deposits.credit('deposit.credit')),
  row(operate, 'POST', '/chain-deposits/:deposit_id/ignore', deposits.ignore('deposit.ignore')),
  row(operate, 'POST', '/upstreams/:upstream/wake', upstreams.wake('upstream.wake')),
  row(operate, 'POST', '/upstreams/:upstream/test', upstreams.test('upstream.test')),
  row(operate, 'POST', '/queue/requests/:request_id/cancel', queue.cancel('request.cancel')),
  row(operate, 'POST', '/unknown/:request_id/resolve', unknownOutcomes.resolve('request.resolve')),
  row(operate, 'POST', '/unknown/resolve', unknownOutcomes.resolveMany('request.resolve_many')),
];

/** The calls of the operator's pages, below /api/operator. */
export const operatorRoutes: Row[] = [
  ...operatorCalls.map(({ method, path, shapes, handle }) =>
    row(operate, method, path, { shapes, handle }),
  ),
  ...consoleCalls,
];
