import type { VisitRow } from '../web/routes.ts';
import * as overview from './overview.ts';
import * as statement from './statement.ts';
import * as topUp from './top-up.ts';

/** The customer's pages, below /api/accounts/:account_id. */
export const cabinetRoutes: VisitRow[] = [
  ['GET', '/balance', 'view', overview.balance],
  ['GET', '/overview', 'view', overview.overview],
  ['GET', '/spend', 'view', overview.spending],
  ['GET', '/statement', 'view', statement.list],
  ['GET', '/statement/export', 'view', statement.exportFile],
  ['GET', '/top-up', 'view', topUp.read],
  ['POST', '/vouchers', 'pay', topUp.redeem],
];
