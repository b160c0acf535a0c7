import type { VisitRow } from '../web/routes.ts';

/** The operator's pages, below /api/operator. */
export const operatorRoutes: VisitRow[] = [];
