import type { VisitRow } from '../web/routes.ts';
import * as overview from './overview.ts';

/** The customer's pages, below /api/accounts/:account_id. */
export const cabinetRoutes: VisitRow[] = [['GET', '/balance', 'view', overview.balance]];
