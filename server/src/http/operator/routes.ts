import type { VisitRow } from '../session/routes.ts';
import * as account from './account.ts';
import * as accounts from './accounts.ts';
import * as attention from './attention.ts';
import * as catalog from './catalog.ts';
import { operatorRows } from './action.ts';
import * as invitations from './invitations.ts';
import * as log from './log.ts';
import * as money from './money.ts';
import * as overview from './overview.ts';
import * as queue from './queue.ts';
import * as requests from './requests.ts';
import * as unknown from './unknown.ts';
import * as upstreams from './upstreams.ts';
import * as vouchers from './vouchers.ts';

/** The operator's pages, below /api/operator: what is looked at, and what is done and logged. */
export const operatorRoutes: VisitRow[] = operatorRows(
  [
    ['/overview', overview.overview],
    ['/attention', attention.list],
    ['/accounts', accounts.list],
    ['/accounts/:account_id', account.read],
    ['/accounts/:account_id/requests', requests.list],
    ['/accounts/:account_id/statement', account.movements],
    ['/requests/:request_id', requests.read],
    ['/requests/:request_id/input', requests.input],
    ['/references', money.reference],
    ['/invitations', invitations.list],
    ['/vouchers', vouchers.list],
    ['/log', log.list],
    ['/catalog', catalog.list],
    ['/catalog/row', catalog.read],
    ['/upstreams', upstreams.list],
    ['/queue', queue.depth],
    ['/queue/requests', queue.list],
    ['/unknown', unknown.list],
  ],
  [
    ['POST', '/audit', 'books.prove', overview.prove],
    ['POST', '/accounts', 'account.create', accounts.create],
    ['POST', '/accounts/:account_id/credit', 'account.credit', money.credit],
    ['POST', '/accounts/:account_id/adjust', 'account.adjust', money.correct],
    ['POST', '/accounts/:account_id/suspend', 'account.suspend', account.setStatus('suspended')],
    ['POST', '/accounts/:account_id/resume', 'account.resume', account.setStatus('active')],
    ['PUT', '/accounts/:account_id/price', 'account.price', account.price],
    ['PUT', '/accounts/:account_id/operator', 'account.operator', account.operator],
    ['PUT', '/accounts/:account_id/keys/:key_id', 'key.limits', account.limits],
    ['POST', '/accounts/:account_id/invitations', 'account.invite', account.inviteInto],
    ['POST', '/accounts/:account_id/people/:person_id/reset', 'person.reset', account.reset],
    ['POST', '/accounts/:account_id/people/:person_id/email', 'person.email', account.setEmail],
    ['POST', '/invitations', 'invitation.create', invitations.create],
    ['DELETE', '/invitations/:invitation_id', 'invitation.withdraw', invitations.withdraw],
    ['POST', '/vouchers', 'voucher.create', vouchers.create],
    ['POST', '/vouchers/:voucher_id/void', 'voucher.void', vouchers.cancel],
    ['POST', '/catalog/row/stop', 'model.stop', catalog.stop],
    ['POST', '/catalog/row/resume', 'model.resume', catalog.resume],
    ['POST', '/upstreams/:upstream/wake', 'upstream.wake', upstreams.wake],
    ['POST', '/upstreams/:upstream/test', 'upstream.test', upstreams.test],
    ['POST', '/queue/requests/:request_id/cancel', 'request.cancel', queue.cancel],
    ['POST', '/unknown/:request_id/resolve', 'request.resolve', unknown.resolve],
    ['POST', '/unknown/resolve', 'request.resolve_many', unknown.resolveMany],
  ],
);
