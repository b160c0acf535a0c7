import type { VisitRow } from '../session/routes.ts';
import { events } from './events.ts';
import * as requests from './requests.ts';
import { thumbnail } from './thumbnail.ts';
import * as alerts from './alerts.ts';
import * as keys from './keys.ts';
import * as overview from './overview.ts';
import * as team from './team.ts';
import * as statement from './statement.ts';
import * as topUp from './top-up.ts';
import * as webhooks from './webhooks.ts';

/** The customer's pages, below /api/accounts/:account_id. */
export const cabinetRoutes: VisitRow[] = [
  ['GET', '/balance', 'view', overview.balance],
  ['GET', '/team', 'view', team.team],
  ['PATCH', '/account', 'own', team.rename],
  ['PATCH', '/members/:person_id', 'own', team.setRole],
  ['DELETE', '/members/:person_id', 'own', team.remove],
  ['POST', '/leave', 'view', team.leave],
  ['POST', '/invitations', 'own', team.invite],
  ['DELETE', '/invitations/:invitation_id', 'own', team.withdraw],
  ['GET', '/events', 'view', events],
  ['GET', '/requests', 'view', requests.list],
  ['GET', '/requests/choices', 'view', requests.choices],
  ['GET', '/requests/:request_id', 'view', requests.read],
  ['GET', '/requests/:request_id/thumbnail', 'view', thumbnail],
  ['GET', '/keys', 'view', keys.list],
  ['POST', '/keys', 'build', keys.create],
  ['GET', '/keys/:key_id', 'view', keys.read],
  ['PATCH', '/keys/:key_id', 'build', keys.change],
  ['POST', '/keys/:key_id/rotate', 'build', keys.rotate],
  ['DELETE', '/keys/:key_id/previous', 'build', keys.dropPrevious],
  ['DELETE', '/keys/:key_id', 'build', keys.revoke],
  ['GET', '/overview', 'view', overview.overview],
  ['GET', '/spend', 'view', overview.spending],
  ['GET', '/statement', 'view', statement.list],
  ['GET', '/statement/lines', 'view', statement.lines],
  ['GET', '/statement/totals', 'view', statement.totals],
  ['GET', '/statement/export', 'view', statement.exportFile],
  ['GET', '/top-up', 'view', topUp.read],
  ['POST', '/vouchers', 'pay', topUp.redeem],
  ['GET', '/alerts', 'view', alerts.read],
  ['PUT', '/alerts', 'pay', alerts.write],
  ['GET', '/webhooks', 'view', webhooks.read],
  ['POST', '/webhooks/rotate', 'build', webhooks.rotate],
  ['POST', '/webhooks/retire', 'build', webhooks.retire],
  ['POST', '/webhooks/test', 'build', webhooks.test],
  ['GET', '/deliveries', 'view', webhooks.list],
  ['GET', '/requests/:request_id/deliveries', 'view', webhooks.ofRequest],
  ['POST', '/requests/:request_id/resend', 'build', webhooks.resend],
];
