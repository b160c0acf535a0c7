import type { VisitRow } from '../web/routes.ts';
import * as account from './account.ts';
import * as accounts from './accounts.ts';
import { operatorRows } from './deed.ts';
import * as invitations from './invitations.ts';
import * as log from './log.ts';
import * as money from './money.ts';
import * as overview from './overview.ts';

/** The operator's pages, below /api/operator: what is looked at, and what is done and logged. */
export const operatorRoutes: VisitRow[] = operatorRows(
  [
    ['/overview', overview.overview],
    ['/accounts', accounts.list],
    ['/accounts/:account_id', account.read],
    ['/accounts/:account_id/requests', account.requests],
    ['/accounts/:account_id/statement', account.movements],
    ['/references', money.reference],
    ['/invitations', invitations.list],
    ['/log', log.list],
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
    ['POST', '/invitations', 'invitation.create', invitations.create],
    ['DELETE', '/invitations/:invitation_id', 'invitation.withdraw', invitations.withdraw],
  ],
);
