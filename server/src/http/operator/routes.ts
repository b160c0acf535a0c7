import type { VisitRow } from '../session/endpoint.ts';
import * as account from './account.ts';
import * as accounts from './accounts.ts';
import * as attention from './attention.ts';
import * as catalog from './catalog.ts';
import { change, read } from './action.ts';
import * as chains from './chains.ts';
import * as deposits from './deposits.ts';
import * as invitations from './invitations.ts';
import * as log from './log.ts';
import * as money from './money.ts';
import * as operatorKeys from './operator-keys.ts';
import * as overview from './overview.ts';
import * as queue from './queue.ts';
import * as requests from './requests.ts';
import * as unknown from './unknown.ts';
import * as upstreams from './upstreams.ts';
import * as vouchers from './vouchers.ts';

/** The calls of the operator's pages, below /api/operator: reads, and actions that are logged. */
export const operatorRoutes: VisitRow[] = [
  read('/overview', overview.overview),
  read('/attention', attention.list),
  read('/accounts', accounts.list),
  read('/accounts/:account_id', account.read),
  read('/accounts/:account_id/keys', account.listKeys),
  read('/accounts/:account_id/requests', requests.list),
  read('/accounts/:account_id/statement', account.movements),
  read('/accounts/:account_id/receipts/:transfer_id', account.receipt),
  read('/requests/:request_id', requests.read),
  read('/requests/:request_id/input', requests.input),
  read('/references', money.reference),
  read('/invitations', invitations.list),
  read('/vouchers', vouchers.list),
  read('/operator-keys', operatorKeys.list),
  read('/chains', chains.list),
  read('/chain-sums', chains.sums),
  read('/chain-deposits', deposits.list),
  read('/log', log.list),
  read('/catalog', catalog.list),
  read('/catalog/row', catalog.read),
  read('/upstreams', upstreams.list),
  read('/queue', queue.depth),
  read('/queue/requests', queue.list),
  read('/unknown', unknown.list),
  change('POST', '/audit', 'books.prove', overview.prove),
  change('POST', '/accounts', 'account.create', accounts.create),
  change('POST', '/accounts/:account_id/credit', 'account.credit', money.credit),
  change('POST', '/accounts/:account_id/adjust', 'account.adjust', money.correct),
  change(
    'POST',
    '/accounts/:account_id/suspend',
    'account.suspend',
    account.setStatus('suspended'),
  ),
  change('POST', '/accounts/:account_id/resume', 'account.resume', account.setStatus('active')),
  change('PUT', '/accounts/:account_id/price', 'account.price', account.price),
  change('PUT', '/accounts/:account_id/operator', 'account.operator', account.operator),
  change('PUT', '/accounts/:account_id/keys-by-api', 'account.keys_by_api', account.keysByApi),
  change('PUT', '/accounts/:account_id/keys/:key_id', 'key.limits', account.limits),
  change('POST', '/accounts/:account_id/invitations', 'account.invite', account.inviteInto),
  change('POST', '/accounts/:account_id/people/:person_id/reset', 'person.reset', account.reset),
  change('POST', '/accounts/:account_id/people/:person_id/email', 'person.email', account.setEmail),
  change('POST', '/invitations', 'invitation.create', invitations.create),
  change('DELETE', '/invitations/:invitation_id', 'invitation.withdraw', invitations.withdraw),
  change('POST', '/vouchers', 'voucher.create', vouchers.create),
  change('POST', '/vouchers/:voucher_id/void', 'voucher.void', vouchers.cancel),
  change('POST', '/operator-keys', 'operator_key.create', operatorKeys.create),
  change('DELETE', '/operator-keys/:operator_key_id', 'operator_key.revoke', operatorKeys.revoke),
  change('POST', '/catalog/row/stop', 'model.stop', catalog.stop),
  change('POST', '/catalog/row/resume', 'model.resume', catalog.resume),
  change('POST', '/chains/:chain/resume', 'chain.resume', chains.resume),
  change('POST', '/chains/:chain/rescan', 'chain.rescan', chains.rescan),
  change('POST', '/chain-deposits/:deposit_id/credit', 'deposit.credit', deposits.credit),
  change('POST', '/chain-deposits/:deposit_id/ignore', 'deposit.ignore', deposits.ignore),
  change('POST', '/upstreams/:upstream/wake', 'upstream.wake', upstreams.wake),
  change('POST', '/upstreams/:upstream/test', 'upstream.test', upstreams.test),
  change('POST', '/queue/requests/:request_id/cancel', 'request.cancel', queue.cancel),
  change('POST', '/requests/:request_id/refund', 'request.refund', money.refund),
  change('POST', '/unknown/:request_id/resolve', 'request.resolve', unknown.resolve),
  change('POST', '/unknown/resolve', 'request.resolve_many', unknown.resolveMany),
];
