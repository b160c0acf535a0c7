import type { VisitRow } from '../web/routes.ts';
import * as overview from './overview.ts';
import * as webhooks from './webhooks.ts';

/** The customer's pages, below /api/accounts/:account_id. */
export const cabinetRoutes: VisitRow[] = [
  ['GET', '/balance', 'view', overview.balance],
  ['GET', '/webhooks', 'view', webhooks.read],
  ['POST', '/webhooks/rotate', 'build', webhooks.rotate],
  ['POST', '/webhooks/retire', 'build', webhooks.retire],
  ['POST', '/webhooks/test', 'build', webhooks.test],
  ['GET', '/deliveries', 'view', webhooks.list],
  ['GET', '/requests/:request_id/deliveries', 'view', webhooks.ofRequest],
  ['POST', '/requests/:request_id/resend', 'build', webhooks.resend],
];
