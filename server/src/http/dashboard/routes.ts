import { row, type VisitRow } from '../session/endpoint.ts';
import { events } from './events.ts';
import * as requests from './requests.ts';
import { thumbnail } from './thumbnail.ts';
import * as alerts from './alerts.ts';
import * as depositAddress from './deposit-address.ts';
import * as keys from './keys.ts';
import * as overview from './overview.ts';
import * as playDeposit from './play-deposit.ts';
import * as receipts from './receipts.ts';
import * as team from './team.ts';
import * as statement from './statement.ts';
import * as topUp from './top-up.ts';
import * as webhooks from './webhooks.ts';

/** The customer's pages, below /api/accounts/:account_id. */
export const dashboardRoutes: VisitRow[] = [
  row('GET', '/balance', 'view', overview.balance),
  row('GET', '/team', 'view', team.team),
  row('PATCH', '/account', 'own', team.rename),
  row('PUT', '/billed-to', 'own', team.setBilledTo),
  row('PATCH', '/members/:person_id', 'own', team.setRole),
  row('DELETE', '/members/:person_id', 'own', team.remove),
  row('POST', '/leave', 'view', team.leave),
  row('POST', '/invitations', 'own', team.invite),
  row('DELETE', '/invitations/:invitation_id', 'own', team.withdraw),
  row('GET', '/events', 'view', events),
  row('GET', '/requests', 'view', requests.list),
  row('GET', '/requests/choices', 'view', requests.choices),
  row('GET', '/requests/:request_id', 'view', requests.read),
  row('GET', '/requests/:request_id/thumbnail', 'view', thumbnail),
  row('GET', '/keys', 'view', keys.list),
  row('POST', '/keys', 'build', keys.create),
  row('GET', '/keys/:key_id', 'view', keys.read),
  row('PATCH', '/keys/:key_id', 'build', keys.change),
  row('POST', '/keys/:key_id/rotate', 'build', keys.rotate),
  row('DELETE', '/keys/:key_id/previous', 'build', keys.dropPrevious),
  row('DELETE', '/keys/:key_id', 'build', keys.revoke),
  row('GET', '/overview', 'view', overview.overview),
  row('GET', '/spend', 'view', overview.spending),
  row('GET', '/statement', 'view', statement.list),
  row('GET', '/statement/lines', 'view', statement.lines),
  row('GET', '/statement/totals', 'view', statement.totals),
  row('GET', '/statement/export', 'view', statement.exportFile),
  row('GET', '/receipts/:transfer_id', 'view', receipts.read),
  row('GET', '/top-up', 'view', topUp.read),
  row('POST', '/vouchers', 'pay', topUp.redeem),
  row('POST', '/deposit-addresses', 'pay', depositAddress.renew),
  row('POST', '/play-deposits', 'pay', playDeposit.send),
  row('GET', '/alerts', 'view', alerts.read),
  row('PUT', '/alerts', 'pay', alerts.write),
  row('GET', '/webhooks', 'view', webhooks.read),
  row('POST', '/webhooks/rotate', 'build', webhooks.rotate),
  row('POST', '/webhooks/retire', 'build', webhooks.retire),
  row('POST', '/webhooks/test', 'build', webhooks.test),
  row('GET', '/deliveries', 'view', webhooks.list),
  row('GET', '/requests/:request_id/deliveries', 'view', webhooks.ofRequest),
  row('POST', '/requests/:request_id/resend', 'build', webhooks.resend),
];
