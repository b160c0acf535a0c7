import type { SpareRule } from '../deps.ts';
import { bytesOf, type RouteDocs } from '../docs/route-docs.ts';
import { mayLag } from '../may-lag.ts';
import * as requestLists from '../requests/list.ts';
import * as queue from '../requests/queue.ts';
import * as requests from '../requests/read.ts';
import * as refusals from '../requests/refusals.ts';
import * as unknownOutcomes from '../requests/unknown-outcomes.ts';
import { operate, operator, row, type Row } from '../row.ts';
import * as oneAccount from './account.ts';
import * as accounts from './accounts.ts';
import * as attention from './attention.ts';
import * as banner from './banner.ts';
import * as chains from './chains.ts';
import * as deposits from './deposits.ts';
import * as events from './events.ts';
import * as invitations from './invitations.ts';
import * as keys from './keys.ts';
import * as log from './log.ts';
import * as models from './models.ts';
import * as bookings from './money.ts';
import * as operatorKeys from './operator-keys.ts';
import * as overview from './overview.ts';
import * as people from './people.ts';
import * as settings from './settings.ts';
import * as transfers from './transfers.ts';
import * as upstreams from './upstreams.ts';
import * as usage from './usage.ts';
import * as vouchers from './vouchers.ts';

const [read, money, manage] = [operator('read'), operator('money'), operator('accounts')];
const sell = operator('catalog');
// For people prices and new keys are money, though programs do both with a lower scope.
const setPrices = operator('accounts', 'money');
const others: SpareRule = { spares: 'operators' };
const manageOthers = operator('accounts', 'accounts', others);
const [keysOfOthers, makeKeys] = [
  operator('keys', 'keys', others),
  operator('keys', 'money', others),
];
const [account, request] = ['/accounts/:account_id', '/requests/:request_id'] as const;
const onePerson = '/people/:person_id';
const [upstream, chain, deposit] = [
  '/upstreams/:upstream',
  '/chains/:chain',
  '/deposits/:deposit_id',
] as const;

/**
 * The operator's API: below /v1/operator with an operator key of this scope, and below
 * /api/operator with the session of an operator whose role has the scope.
 */
export const operatorCalls: Row[] = [
  row(read, 'GET', '/overview', mayLag(overview.overview), 'readOverview'),
  row(read, 'GET', '/attention', attention.list, 'listAttention'),
  row(read, 'POST', '/audit', overview.prove, 'proveBooks'),
  row(read, 'GET', '/accounts', accounts.list, 'listAccounts'),
  row(manage, 'POST', '/accounts', accounts.create, {
    ...made('createAccount'),
    errors: ['invalid_input', 'idempotency_conflict'],
  }),
  row(read, 'GET', account, oneAccount.read, 'readAccount'),
  row(manageOthers, 'GET', `${account}/export`, oneAccount.exportAll, {
    operationId: 'exportAccount',
    replies: { 200: { content: bytesOf('application/x-ndjson'), headers: ['ContentDisposition'] } },
  }),
  row(money, 'POST', `${account}/credits`, bookings.credit, booked('creditAccount')),
  row(money, 'POST', `${account}/adjustments`, bookings.adjust, booked('adjustAccount')),
  row(manageOthers, 'POST', `${account}/suspend`, oneAccount.suspend, 'suspendAccount'),
  row(manageOthers, 'POST', `${account}/resume`, oneAccount.resume, 'resumeAccount'),
  row(setPrices, 'PUT', `${account}/price`, oneAccount.price, 'setAccountPrice'),
  row(manageOthers, 'PUT', `${account}/keys-by-api`, oneAccount.keysByApi, 'setKeysByApi'),
  row(read, 'GET', `${account}/statement`, oneAccount.movements, 'readStatement'),
  row(read, 'GET', `${account}/receipts/:transfer_id`, oneAccount.receipt, 'readReceipt'),
  row(read, 'GET', `${account}/keys`, keys.list, 'listKeys'),
  row(makeKeys, 'POST', `${account}/keys`, keys.create, made('createKey')),
  row(keysOfOthers, 'PATCH', '/keys/:key_id', keys.change, 'changeKey'),
  row(keysOfOthers, 'DELETE', '/keys/:key_id', keys.revoke, 'revokeKey'),
  row(manageOthers, 'POST', `${account}/invitations`, invitations.inviteInto, {
    ...made('inviteIntoAccount'),
    errors: ['invalid_input'],
  }),
  row(read, 'GET', `${account}/people`, people.list, 'listPeople'),
  row(manageOthers, 'PATCH', onePerson, people.change, mayMiss('changePerson')),
  row(manageOthers, 'DELETE', onePerson, people.remove, mayMiss('removePerson')),
  row(manageOthers, 'POST', `${onePerson}/erase`, people.erase, mayMiss('erasePerson')),
  row(
    manageOthers,
    'POST',
    `${onePerson}/sign-out`,
    people.signPersonOut,
    mayMiss('signPersonOut'),
  ),
  row(
    manageOthers,
    'POST',
    `${onePerson}/reset-two-factors`,
    people.resetsTwoFactors,
    mayMiss('resetTwoFactors'),
  ),
  row(read, 'GET', '/requests', mayLag(requestLists.listAll), mayMiss('listAllRequests')),
  row(read, 'GET', '/requests/export', mayLag(requestLists.exportAll), {
    ...mayMiss('exportAllRequests'),
    replies: { 200: { content: bytesOf('text/csv'), headers: ['ContentDisposition'] } },
  }),
  row(read, 'GET', request, requests.readAny, 'readAnyRequest'),
  row(read, 'GET', `${request}/input`, requests.readInput, 'readRequestInput'),
  row(read, 'GET', '/refusals', mayLag(refusals.listAll), mayMiss('listAllRefusals')),
  row(money, 'POST', `${request}/refunds`, bookings.refund, booked('refundRequest')),
  row(money, 'POST', `${request}/cancel`, queue.cancel, {
    operationId: 'cancelAnyRequest',
    errors: ['not_cancellable'],
  }),
  row(money, 'POST', `${request}/resolve`, unknownOutcomes.resolve, 'resolveRequest'),
  row(read, 'GET', '/queue', queue.depth, 'readQueue'),
  row(read, 'GET', '/queue/requests', queue.list, mayMiss('listOpenRequests')),
  row(read, 'GET', '/unknown', unknownOutcomes.list, 'listUnknownOutcomes'),
  row(money, 'POST', '/unknown/resolve', unknownOutcomes.resolveMany, 'resolveUnknownOutcomes'),
  row(read, 'GET', '/transfers', mayLag(transfers.list), mayMiss('listTransfers')),
  row(read, 'GET', '/usage', mayLag(usage.list), 'readUsage'),
  row(read, 'GET', '/events', mayLag(events.list), 'listEvents'),
  row(read, 'GET', '/references', bookings.reference, 'findReference'),
  row(read, 'GET', '/vouchers', vouchers.list, 'listVouchers'),
  row(money, 'POST', '/vouchers', vouchers.create, made('createVouchers')),
  row(money, 'POST', '/vouchers/:voucher_id/void', vouchers.cancel, 'voidVoucher'),
  row(read, 'GET', '/models', models.list, 'listCatalog'),
  row(read, 'GET', '/models/*', models.read, mayMiss('readCatalogRow')),
  row(sell, 'PATCH', '/models/*', models.change, mayMiss('changeModel')),
  row(sell, 'DELETE', '/models/:model_id/override', models.reset, 'resetModel'),
  row(read, 'GET', '/models/:model_id/history', models.history, 'listModelHistory'),
  row(read, 'GET', '/upstreams', upstreams.list, 'listUpstreams'),
  row(read, 'GET', upstream, upstreams.read, 'readUpstream'),
  row(sell, 'PATCH', upstream, upstreams.change, 'changeUpstream'),
  row(sell, 'PUT', `${upstream}/key`, upstreams.setKey, 'setUpstreamKey'),
  row(sell, 'POST', `${upstream}/resume`, upstreams.resume, 'resumeUpstream'),
  row(sell, 'POST', `${upstream}/test`, upstreams.test, 'testUpstream'),
  row(read, 'GET', '/chains', chains.list, 'listChains'),
  row(read, 'GET', '/chains/sums', mayLag(chains.sums), 'sumChains'),
  row(money, 'POST', `${chain}/resume`, chains.resume, 'resumeChain'),
  row(money, 'POST', `${chain}/rescan`, chains.rescan, 'rescanChain'),
  row(read, 'GET', '/deposits', deposits.list, mayMiss('listAllDeposits')),
  row(money, 'POST', `${deposit}/credit`, deposits.credit, 'creditDeposit'),
  row(money, 'POST', `${deposit}/ignore`, deposits.ignore, 'ignoreDeposit'),
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
  row(read, 'GET', '/operator-keys', operatorKeys.list, 'listOperatorKeys'),
  row(read, 'GET', '/banner', banner.read, 'readBanner'),
  row(sell, 'PUT', '/banner', banner.set, 'setBanner'),
  row(read, 'GET', '/settings', settings.list, 'listSettings'),
  row(read, 'GET', '/log', log.list, mayMiss('readLog')),
];

/**
 * Calls that only the session of an operator can make, because a key may leak. By these its holder
 * would become an operator, sign in as somebody else, or have another key when this one is revoked.
 */
export const consoleCalls: Row[] = [
  row(operate('own'), 'PUT', `${account}/operator`, oneAccount.operator),
  row(operate('accounts', others), 'POST', `${onePerson}/reset-link`, people.reset),
  row(operate('own'), 'POST', '/operator-keys', operatorKeys.create),
  row(operate('own'), 'DELETE', '/operator-keys/:operator_key_id', operatorKeys.revoke),
];

/** The calls of the operator's pages, below /api/operator. */
export const operatorRoutes: Row[] = [
  ...operatorCalls.map((call) => {
    const { method, path, shapes, handle } = call;
    return row(entranceOf(call), method, path, { shapes, handle });
  }),
  ...consoleCalls,
];

function entranceOf(call: Row) {
  if (call.who === 'operator') return operate(call.right, call);
  throw new Error(`${call.path} is no call of the operator's API`);
}

function made(operationId: string): RouteDocs {
  return { operationId, replies: { 201: {} } };
}

/** 200: it was booked before. */
function booked(operationId: string): RouteDocs {
  return { operationId, replies: { 200: {}, 201: {} }, errors: ['idempotency_conflict'] };
}

/** For a call whose query or path names something that may not exist. */
function mayMiss(operationId: string): RouteDocs {
  return { operationId, errors: ['not_found'] };
}
