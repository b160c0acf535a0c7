import { person, row, type Row } from '../row.ts';
import { events } from './events.ts';
import { mayLag } from '../may-lag.ts';
import * as library from '../requests/library.ts';
import * as requestLists from '../requests/list.ts';
import { read as readRequest } from '../requests/read.ts';
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

const [view, build, pay, own] = [person('view'), person('build'), person('pay'), person('own')];

/** The customer's pages, below /api/accounts/:account_id. */
export const dashboardRoutes: Row[] = [
  row(view, 'GET', '/balance', overview.balance),
  row(view, 'GET', '/team', team.team),
  row(own, 'PATCH', '/account', team.rename),
  row(own, 'PUT', '/billed-to', team.setBilledTo),
  row(own, 'PATCH', '/members/:person_id', team.setRole),
  row(own, 'DELETE', '/members/:person_id', team.remove),
  row(view, 'POST', '/leave', team.leave),
  row(own, 'POST', '/invitations', team.invite),
  row(own, 'DELETE', '/invitations/:invitation_id', team.withdraw),
  row(view, 'GET', '/events', events),
  row(view, 'GET', '/requests', requestLists.listOwn),
  row(view, 'GET', '/requests/choices', requestLists.choices),
  row(view, 'GET', '/requests/:request_id', readRequest),
  row(view, 'GET', '/library', library.list),
  row(view, 'GET', '/library/zip', library.zip),
  row(build, 'PUT', '/requests/:request_id/favorite', library.mark),
  row(build, 'DELETE', '/requests/:request_id/favorite', library.unmark),
  row(view, 'GET', '/keys', keys.list),
  row(build, 'POST', '/keys', keys.create),
  row(view, 'GET', '/keys/:key_id', keys.read),
  row(build, 'PATCH', '/keys/:key_id', keys.change),
  row(build, 'POST', '/keys/:key_id/rotate', keys.rotate),
  row(build, 'DELETE', '/keys/:key_id/previous', keys.dropPrevious),
  row(build, 'DELETE', '/keys/:key_id', keys.revoke),
  row(view, 'GET', '/overview', overview.overview),
  row(view, 'GET', '/spend', mayLag(overview.spending)),
  row(view, 'GET', '/statement', statement.list),
  row(view, 'GET', '/statement/lines', statement.lines),
  row(view, 'GET', '/statement/totals', statement.totals),
  row(view, 'GET', '/statement/export', statement.exportFile),
  row(view, 'GET', '/receipts/:transfer_id', receipts.read),
  row(view, 'GET', '/top-up', topUp.read),
  row(pay, 'POST', '/vouchers', topUp.redeem),
  row(pay, 'POST', '/deposit-addresses', depositAddress.renew),
  row(pay, 'POST', '/play-deposits', playDeposit.send),
  row(view, 'GET', '/alerts', alerts.read),
  row(pay, 'PUT', '/alerts', alerts.write),
  row(view, 'GET', '/webhooks', webhooks.read),
  row(build, 'POST', '/webhooks/rotate', webhooks.rotate),
  row(build, 'POST', '/webhooks/retire', webhooks.retire),
  row(build, 'POST', '/webhooks/test', webhooks.test),
  row(view, 'GET', '/deliveries', webhooks.list),
  row(view, 'GET', '/requests/:request_id/deliveries', webhooks.ofRequest),
  row(build, 'POST', '/requests/:request_id/resend', webhooks.resend),
];
