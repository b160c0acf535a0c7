import { person, row, type Row } from '../row.ts';
import * as account from './account.ts';
import * as accounts from './accounts.ts';
import * as attention from './attention.ts';
import * as catalog from './catalog.ts';
import * as chains from './chains.ts';
import * as deposits from './deposits.ts';
import * as invitations from './invitations.ts';
import * as log from './log.ts';
import * as money from './money.ts';
import * as operatorKeys from './operator-keys.ts';
import * as overview from './overview.ts';
import * as requestLists from '../requests/list.ts';
import * as queue from '../requests/queue.ts';
import * as requests from '../requests/read.ts';
import * as unknown from '../requests/unknown.ts';
import * as upstreams from './upstreams.ts';
import * as vouchers from './vouchers.ts';

const operate = person('operate');

/** The calls of the operator's pages, below /api/operator: reads, and actions that are logged. */
export const operatorRoutes: Row[] = [
  row(operate, 'GET', '/overview', overview.overview),
  row(operate, 'GET', '/attention', attention.list),
  row(operate, 'GET', '/accounts', accounts.list),
  row(operate, 'GET', '/accounts/:account_id', account.read),
  row(operate, 'GET', '/accounts/:account_id/keys', account.listKeys),
  row(operate, 'GET', '/accounts/:account_id/requests', requestLists.listOfAccount),
  row(operate, 'GET', '/accounts/:account_id/statement', account.movements),
  row(operate, 'GET', '/accounts/:account_id/receipts/:transfer_id', account.receipt),
  row(operate, 'GET', '/requests/:request_id', requests.readAny),
  row(operate, 'GET', '/requests/:request_id/input', requests.readInput),
  row(operate, 'GET', '/references', money.reference),
  row(operate, 'GET', '/invitations', invitations.list),
  row(operate, 'GET', '/vouchers', vouchers.list),
  row(operate, 'GET', '/operator-keys', operatorKeys.list),
  row(operate, 'GET', '/chains', chains.list),
  row(operate, 'GET', '/chain-sums', chains.sums),
  row(operate, 'GET', '/chain-deposits', deposits.list),
  row(operate, 'GET', '/log', log.list),
  row(operate, 'GET', '/catalog', catalog.list),
  row(operate, 'GET', '/catalog/row', catalog.read),
  row(operate, 'GET', '/upstreams', upstreams.list),
  row(operate, 'GET', '/queue', queue.depth),
  row(operate, 'GET', '/queue/requests', queue.list),
  row(operate, 'GET', '/unknown', unknown.list),
  row(operate, 'POST', '/audit', overview.prove('books.prove')),
  row(operate, 'POST', '/accounts', accounts.create('account.create')),
  row(operate, 'POST', '/accounts/:account_id/credit', money.credit('account.credit')),
  row(operate, 'POST', '/accounts/:account_id/adjust', money.correct('account.adjust')),
  row(
    operate,
    'POST',
    '/accounts/:account_id/suspend',
    account.setStatus('suspended')('account.suspend'),
  ),
  row(
    operate,
    'POST',
    '/accounts/:account_id/resume',
    account.setStatus('active')('account.resume'),
  ),
  row(operate, 'PUT', '/accounts/:account_id/price', account.price('account.price')),
  row(operate, 'PUT', '/accounts/:account_id/operator', account.operator('account.operator')),
  row(
    operate,
    'PUT',
    '/accounts/:account_id/keys-by-api',
    account.keysByApi('account.keys_by_api'),
  ),
  row(operate, 'PUT', '/accounts/:account_id/keys/:key_id', account.limits('key.limits')),
  row(operate, 'POST', '/accounts/:account_id/invitations', account.inviteInto('account.invite')),
  row(
    operate,
    'POST',
    '/accounts/:account_id/people/:person_id/reset',
    account.reset('person.reset'),
  ),
  row(
    operate,
    'POST',
    '/accounts/:account_id/people/:person_id/email',
    account.setEmail('person.email'),
  ),
  row(operate, 'POST', '/invitations', invitations.create('invitation.create')),
  row(
    operate,
    'DELETE',
    '/invitations/:invitation_id',
    invitations.withdraw('invitation.withdraw'),
  ),
  row(operate, 'POST', '/vouchers', vouchers.create('voucher.create')),
  row(operate, 'POST', '/vouchers/:voucher_id/void', vouchers.cancel('voucher.void')),
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
  row(operate, 'POST', '/requests/:request_id/refund', money.refund('request.refund')),
  row(operate, 'POST', '/unknown/:request_id/resolve', unknown.resolve('request.resolve')),
  row(operate, 'POST', '/unknown/resolve', unknown.resolveMany('request.resolve_many')),
];
