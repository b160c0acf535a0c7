import type { VisitRow } from '../web/routes.ts';
import * as keys from './keys.ts';
import * as overview from './overview.ts';
import * as webhooks from './webhooks.ts';

/** The customer's pages, below /api/accounts/:account_id. */
export const cabinetRoutes: VisitRow[] = [
  ['GET', '/balance', 'view', overview.balance],
  ['GET', '/keys', 'view', keys.list],
  ['POST', '/keys', 'build', keys.create],
  ['GET', '/keys/:key_id', 'view', keys.read],
  ['PATCH', '/keys/:key_id', 'build', keys.change],
  ['POST', '/keys/:key_id/rotate', 'build', keys.rotate],
  ['DELETE', '/keys/:key_id/previous', 'build', keys.dropPrevious],
  ['DELETE', '/keys/:key_id', 'build', keys.revoke],
  ['GET', '/webhooks', 'view', webhooks.read],
  ['POST', '/webhooks/rotate', 'build', webhooks.rotate],
  ['POST', '/webhooks/retire', 'build', webhooks.retire],
  ['POST', '/webhooks/test', 'build', webhooks.test],
  ['GET', '/deliveries', 'view', webhooks.list],
  ['GET', '/requests/:request_id/deliveries', 'view', webhooks.ofRequest],
  ['POST', '/requests/:request_id/resend', 'build', webhooks.resend],
];
