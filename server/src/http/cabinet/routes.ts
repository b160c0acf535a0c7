import type { VisitRow } from '../web/routes.ts';
import { events } from './events.ts';
import * as overview from './overview.ts';
import * as requests from './requests.ts';

/** The customer's pages, below /api/accounts/:account_id. */
export const cabinetRoutes: VisitRow[] = [
  ['GET', '/balance', 'view', overview.balance],
  ['GET', '/events', 'view', events],
  ['GET', '/requests', 'view', requests.list],
  ['GET', '/requests/choices', 'view', requests.choices],
  ['GET', '/requests/:request_id', 'view', requests.read],
];
